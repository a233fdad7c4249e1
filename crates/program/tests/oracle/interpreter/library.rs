//! Methods of the JDK that are native or lead deep into it.

use super::{Content, Handle, Machine, Outcome, Value};
use unsnarl_program::names::Type;

impl Machine<'_, '_> {
    /// The result of a method of the JDK; none if its own body is to be run.
    pub(super) fn library_call(
        &mut self,
        method: &str,
        arguments: &[Value],
    ) -> Option<Outcome<Option<Value>>> {
        let (class, member) = method.split_once('.').expect("a class and a member");
        let result = match class {
            "java/lang/String" => self.string(member, arguments)?,
            "java/lang/StringBuilder" | "java/lang/StringBuffer" => {
                self.string_builder(member, arguments)?
            }
            "java/lang/Integer"
            | "java/lang/Long"
            | "java/lang/Boolean"
            | "java/lang/Character"
            | "java/lang/Byte"
            | "java/lang/Short"
            | "java/lang/Float"
            | "java/lang/Double" => self.number(class, member, arguments)?,
            _ => self.native(method, arguments)?,
        };
        Some(result)
    }

    fn native(&mut self, method: &str, arguments: &[Value]) -> Option<Outcome<Option<Value>>> {
        let value = match method {
            "java/lang/Object.getClass()Ljava/lang/Class;" => {
                let object = arguments[0].handle();
                Value::Object(self.class_object(self.heap[object.0].ty))
            }
            "java/lang/Object.clone()Ljava/lang/Object;" => {
                let object = self.heap[arguments[0].handle().0].clone();
                Value::Object(self.push(object.ty, object.content))
            }
            "java/lang/Throwable.fillInStackTrace()Ljava/lang/Throwable;" => arguments[0],
            "java/lang/Class.desiredAssertionStatus()Z" => Value::Int(0),
            "java/lang/Class.getName()Ljava/lang/String;"
            | "java/lang/Class.getSimpleName()Ljava/lang/String;" => {
                let Content::Class(ty) = self.heap[arguments[0].handle().0].content else {
                    panic!("an object of Class");
                };
                let name = self.program.names.type_text(ty);
                let name = match method.contains("Simple") {
                    true => name.rsplit(['.', '$']).next().expect("a last part").to_owned(),
                    false => name,
                };
                Value::Object(self.new_string(name.encode_utf16().collect()))
            }
            "java/lang/Class.getSuperclass()Ljava/lang/Class;" => {
                let Content::Class(ty) = self.heap[arguments[0].handle().0].content else {
                    panic!("an object of Class");
                };
                let class = self.program.class_of_type(ty).expect("a class");
                let above = self.program.classes()[class].superclass.expect("a superclass");
                let above = self.program.classes()[above].name;
                let above = self.program.names.type_id(Type::Class(above));
                Value::Object(self.class_object(above))
            }
            // It asks for a property of the system.
            "java/util/Arrays$LegacyMergeSort.<clinit>()V" => return Some(Ok(None)),
            "java/lang/Thread.holdsLock(Ljava/lang/Object;)Z" => {
                let count = self.locks.get(&arguments[0].handle()).copied().unwrap_or(0);
                Value::Int((count > 0).into())
            }
            "java/lang/System.arraycopy(Ljava/lang/Object;ILjava/lang/Object;II)V" => {
                return Some(self.array_copy(arguments).map(|()| None));
            }
            "java/lang/Float.floatToRawIntBits(F)I" => {
                Value::Int(arguments[0].float().to_bits() as i32)
            }
            _ => return None,
        };
        Some(Ok(Some(value)))
    }

    fn array_copy(&mut self, arguments: &[Value]) -> Outcome<()> {
        let (from, to) = (self.non_null(arguments[0])?, self.non_null(arguments[2])?);
        let start = |value: Value| usize::try_from(value.int()).ok();
        let (Some(first), Some(at), Some(count)) =
            (start(arguments[1]), start(arguments[3]), start(arguments[4]))
        else {
            return Err(self.exception("java/lang/ArrayIndexOutOfBoundsException"));
        };
        if first + count > self.elements(from).len() || at + count > self.elements(to).len() {
            return Err(self.exception("java/lang/ArrayIndexOutOfBoundsException"));
        }
        let copied = self.elements(from)[first..first + count].to_vec();
        self.elements(to)[at..at + count].copy_from_slice(&copied);
        Ok(())
    }

    fn string(&mut self, member: &str, arguments: &[Value]) -> Option<Outcome<Option<Value>>> {
        if let Some(parameter) = member.strip_prefix("valueOf(") {
            return Some(self.text_value(&parameter[..1], arguments[0]).map(Some));
        }
        let this = arguments[0].handle();
        let value = match member {
            "length()I" => Value::Int(self.units(this).len() as i32),
            "isEmpty()Z" => Value::Int(self.units(this).is_empty().into()),
            "charAt(I)C" => {
                let index = arguments[1].int();
                let unit = usize::try_from(index).ok().and_then(|i| self.units(this).get(i));
                match unit {
                    Some(&unit) => Value::Int(unit.into()),
                    None => {
                        let class = "java/lang/StringIndexOutOfBoundsException";
                        return Some(Err(self.exception(class)));
                    }
                }
            }
            "hashCode()I" => {
                let hash =
                    |hash: i32, &unit: &u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
                Value::Int(self.units(this).iter().fold(0, hash))
            }
            "equals(Ljava/lang/Object;)Z" => {
                let equal = match arguments[1] {
                    Value::Object(other) => {
                        self.heap[other.0].ty == self.heap[this.0].ty
                            && self.units(other).clone() == *self.units(this)
                    }
                    _ => false,
                };
                Value::Int(equal.into())
            }
            "compareTo(Ljava/lang/String;)I" => {
                let (left, right) = (self.text(this), self.text(arguments[1].handle()));
                assert!(left.len() == right.len(), "texts of one length");
                let unequal = left.bytes().zip(right.bytes()).find(|(left, right)| left != right);
                Value::Int(unequal.map_or(0, |(left, right)| i32::from(left) - i32::from(right)))
            }
            "toString()Ljava/lang/String;" => arguments[0],
            "concat(Ljava/lang/String;)Ljava/lang/String;" => {
                let mut units = self.units(this).clone();
                units.extend_from_slice(self.units(arguments[1].handle()));
                Value::Object(self.new_string(units))
            }
            "substring(II)Ljava/lang/String;" => {
                let range = arguments[1].int() as usize..arguments[2].int() as usize;
                let units = self.units(this)[range].to_vec();
                Value::Object(self.new_string(units))
            }
            other => panic!("String.{other} is not run"),
        };
        Some(Ok(Some(value)))
    }

    fn string_builder(
        &mut self,
        member: &str,
        arguments: &[Value],
    ) -> Option<Outcome<Option<Value>>> {
        let this = arguments[0].handle();
        if let Some(parameter) = member.strip_prefix("append(") {
            let added = match self.text_value(&parameter[..1], arguments[1]) {
                Ok(text) => self.units(text.handle()).clone(),
                Err(exception) => return Some(Err(exception)),
            };
            self.units(this).extend(added);
            return Some(Ok(Some(arguments[0])));
        }
        let value = match member {
            "<init>()V" | "<init>(I)V" => return Some(Ok(None)),
            "<init>(Ljava/lang/String;)V" => {
                let text = self.units(arguments[1].handle()).clone();
                self.units(this).extend(text);
                return Some(Ok(None));
            }
            "length()I" => Value::Int(self.units(this).len() as i32),
            "reverse()Ljava/lang/StringBuilder;" | "reverse()Ljava/lang/StringBuffer;" => {
                self.units(this).reverse();
                arguments[0]
            }
            "setLength(I)V" => {
                self.units(this).resize(arguments[1].int() as usize, 0);
                return Some(Ok(None));
            }
            "charAt(I)C" => Value::Int(self.units(this)[arguments[1].int() as usize].into()),
            "toString()Ljava/lang/String;" => {
                let units = self.units(this).clone();
                Value::Object(self.new_string(units))
            }
            other => panic!("StringBuilder.{other} is not run"),
        };
        Some(Ok(Some(value)))
    }

    /// A value of the type with this letter as a string.
    fn text_value(&mut self, letter: &str, value: Value) -> Outcome<Value> {
        let ty = match letter {
            "L" => self.program.names.known.object,
            _ => {
                let ty = unsnarl_classfile::FieldType::parse(letter.as_bytes());
                self.program.names.field_type(ty.expect("a primitive type"))
            }
        };
        let text = self.text_of(ty, value)?;
        Ok(Value::Object(self.new_string(text.encode_utf16().collect())))
    }

    /// The boxes. Their own bodies do for most methods; caches need the JVM.
    fn number(
        &mut self,
        class: &str,
        member: &str,
        arguments: &[Value],
    ) -> Option<Outcome<Option<Value>>> {
        let value = match member {
            _ if member.starts_with("valueOf(") && !member.starts_with("valueOf(L") => {
                Value::Object(self.boxed(class, arguments[0]))
            }
            _ if member.starts_with("toString(") => {
                let value = match arguments[0] {
                    Value::Object(object) => {
                        let field = self.field_named(object, "value");
                        self.fields(object)[&field]
                    }
                    value => value,
                };
                let letter = match class {
                    "java/lang/Boolean" => "Z",
                    "java/lang/Character" => "C",
                    "java/lang/Long" => "J",
                    _ => "I",
                };
                return Some(self.text_value(letter, value).map(Some));
            }
            "floatToIntBits(F)I" | "floatToRawIntBits(F)I" => {
                let value = arguments[0].float();
                Value::Int(if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() as i32 })
            }
            "doubleToLongBits(D)J" | "doubleToRawLongBits(D)J" => {
                let value = arguments[0].double();
                let nan = 0x7ff8_0000_0000_0000;
                Value::Long(if value.is_nan() { nan } else { value.to_bits() as i64 })
            }
            "intBitsToFloat(I)F" => Value::Float(f32::from_bits(arguments[0].int() as u32)),
            "longBitsToDouble(J)D" => Value::Double(f64::from_bits(arguments[0].long() as u64)),
            _ => return None,
        };
        Some(Ok(Some(value)))
    }

    fn boxed(&mut self, class: &str, value: Value) -> Handle {
        let ty = self.program.names.class_constant(class.as_bytes()).expect("a class");
        let object = self.allocate(ty);
        let field = self.field_named(object, "value");
        let ty: Type = self.program.names.ty(self.program.fields()[field].ty);
        self.fields(object).insert(field, value.narrowed(ty));
        object
    }
}

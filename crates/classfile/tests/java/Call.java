import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/** Calls every static method of a class with a few arguments of every kind and prints the results. */
class Call {
    public static void main(String[] arguments) throws Exception {
        Method[] methods = Class.forName(arguments[0]).getDeclaredMethods();
        Arrays.sort(methods, Comparator.comparing(Method::getName));
        for (Method method : methods) {
            if (method.isSynthetic()) continue;
            for (Object[] values : combinations(method.getParameterTypes())) {
                StringBuilder text = new StringBuilder();
                for (Object value : values) text.append(text.length() == 0 ? "" : ",").append(value);
                Object result;
                try {
                    result = method.invoke(null, values);
                } catch (InvocationTargetException exception) {
                    result = exception.getCause();
                }
                System.out.println(method.getName() + "(" + text + ") = " + result);
            }
        }
    }

    private static List<Object[]> combinations(Class<?>[] types) {
        List<Object[]> all = new ArrayList<>();
        all.add(new Object[types.length]);
        for (int index = 0; index < types.length; index++) {
            List<Object[]> longer = new ArrayList<>();
            Object[] choices =
                    types[index] == int.class ? new Object[] {-1, 0, 1} : new Object[] {null, "a", "b"};
            for (Object[] values : all) {
                for (Object choice : choices) {
                    Object[] copy = values.clone();
                    copy[index] = choice;
                    longer.add(copy);
                }
            }
            all = longer;
        }
        return all;
    }
}

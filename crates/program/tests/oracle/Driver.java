import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Calls static methods with the arguments 0 to n-1 and prints a line for each: {@code Class.method(3) = result}. */
public class Driver {
    public static void main(String[] arguments) throws Exception {
        int seeds = Integer.parseInt(arguments[0]);
        StringBuilder out = new StringBuilder();
        for (int i = 1; i < arguments.length; i++) {
            int dot = arguments[i].lastIndexOf('.');
            Class<?> owner = Class.forName(arguments[i].substring(0, dot));
            Method method = owner.getDeclaredMethod(arguments[i].substring(dot + 1), int.class);
            method.setAccessible(true);
            for (int seed = 0; seed < seeds; seed++) {
                Object result;
                try {
                    result = method.invoke(null, seed);
                } catch (InvocationTargetException thrown) {
                    result = "throws " + thrown.getCause().getClass().getName();
                }
                out.append(arguments[i]).append('(').append(seed).append(") = ").append(result).append('\n');
            }
        }
        System.out.print(out);
    }
}

package program;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/**
 * Runs the main methods of unchanged programs in one process, each in a thread:
 * {@code Mains CLASS[;PROPERTY=VALUE]...}. A property is set when the program's classes are initialised, which is when
 * Netty's examples read theirs.
 */
public final class Mains {
    private Mains() {
    }

    /** Starts all. */
    public static void main(String[] args) throws Exception {
        for (String program : args) {
            String[] parts = program.split(";");
            for (int i = 1; i < parts.length; i++) {
                int equals = parts[i].indexOf('=');
                System.setProperty(parts[i].substring(0, equals), parts[i].substring(equals + 1));
            }
            Method main = Class.forName(parts[0]).getMethod("main", String[].class);
            Thread.ofPlatform().name(parts[0]).start(() -> run(main, parts[0]));
        }
        System.out.println("all started");
    }

    private static void run(Method main, String name) {
        try {
            main.invoke(null, (Object) new String[0]);
            System.out.println(name + " ended");
        } catch (InvocationTargetException e) {
            System.out.println(name + " failed");
            e.getCause().printStackTrace();
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }
}

package program;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/**
 * Runs the main methods of unchanged programs in one process, each in its own thread: {@code Mains
 * CLASS[;PROPERTY=VALUE]...}. The properties are set before the program's classes are initialised, because Netty's
 * examples read them at that time. The property {@code console} holds the program's standard input: lines separated by
 * a bar. {@code console} and {@code ssl} apply to one program only; the others stay set.
 */
public final class Mains {
    private static final String CONSOLE = "console";
    /** The presence of this property selects TLS in the examples. */
    private static final String TLS = "ssl";
    /** Many examples share this class. It reads the property when one of their threads uses it first. */
    private static final String SHARED = "io.netty.example.util.ServerUtil";

    private Mains() {
    }

    /** A separate standard input for each program. It blocks after its lines, like a terminal without further input. */
    private static final class Consoles extends InputStream {
        private final ThreadLocal<InputStream> lines = ThreadLocal.withInitial(InputStream::nullInputStream);

        void type(String text) {
            lines.set(new ByteArrayInputStream((text.replace('|', '\n') + '\n').getBytes(StandardCharsets.UTF_8)));
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            read(one, 0, 1);
            return one[0] & 0xFF;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            int read = lines.get().read(target, offset, length);
            if (read > 0) {
                return read;
            }
            try {
                Thread.currentThread().join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return -1;
        }
    }

    /** Starts all programs. */
    public static void main(String[] args) throws Exception {
        Consoles consoles = new Consoles();
        System.setIn(consoles);
        System.clearProperty(TLS);
        Class.forName(SHARED);
        for (String program : args) {
            String[] parts = program.split(";");
            System.clearProperty(CONSOLE);
            System.clearProperty(TLS);
            for (int i = 1; i < parts.length; i++) {
                int equals = parts[i].indexOf('=');
                System.setProperty(parts[i].substring(0, equals), parts[i].substring(equals + 1));
            }
            String typed = System.getProperty(CONSOLE, "");
            Method main = Class.forName(parts[0]).getMethod("main", String[].class);
            Thread.ofPlatform().name(parts[0]).start(() -> {
                consoles.type(typed);
                run(main, parts[0]);
            });
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

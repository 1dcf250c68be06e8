package io.rdmaraw.agent;

import java.io.File;
import java.lang.instrument.Instrumentation;
import java.util.jar.JarFile;

/**
 * Where the JVM enters. Compiled for Java 8, so that an old JVM can say that it is too old; a program whose agent fails
 * to load does not start.
 */
public final class Premain {
    private static final int OLDEST_JAVA = 25;

    private Premain() {
    }

    /**
     * Called by the JVM before the program's main method.
     *
     * @param options what stands behind the jar's name, or null
     * @param instrumentation by which classes are rewritten
     */
    public static void premain(String options, Instrumentation instrumentation) {
        String version = System.getProperty("java.specification.version");
        if (version.startsWith("1.") || Integer.parseInt(version) < OLDEST_JAVA) {
            decline("this is Java " + version + "; run the program with a JDK " + OLDEST_JAVA + " or newer");
            return;
        }
        try {
            File jar = new File(Premain.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            // What rewritten classes call has to be found by every class loader.
            instrumentation.appendToBootstrapClassLoaderSearch(new JarFile(jar));
            Class.forName("io.rdmaraw.agent.Agent", true, null)
                    .getMethod("start", String.class, Instrumentation.class, File.class)
                    .invoke(null, options, instrumentation, jar);
        } catch (Exception e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            decline(cause instanceof IllegalArgumentException ? cause.getMessage() : cause.toString());
        } catch (LinkageError e) {
            decline(e.toString());
        }
    }

    private static void decline(String reason) {
        System.err.println("rdma-raw agent: the program runs without it: " + reason);
    }
}

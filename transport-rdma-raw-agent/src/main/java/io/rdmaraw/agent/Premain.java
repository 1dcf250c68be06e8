package io.rdmaraw.agent;

import java.io.File;
import java.lang.instrument.Instrumentation;
import java.util.jar.JarFile;

/**
 * The entry point of the agent. It is compiled for Java 8, so that an old JVM can report its version: if an agent fails
 * to load, the program does not start.
 */
public final class Premain {
    private static final int OLDEST_JAVA = 25;

    private Premain() {
    }

    /**
     * Called by the JVM before the program's main method.
     *
     * @param options         the text after the jar's name and an equals sign, or null
     * @param instrumentation service for class transformation
     */
    public static void premain(String options, Instrumentation instrumentation) {
        String version = System.getProperty("java.specification.version");
        if (version.startsWith("1.") || Integer.parseInt(version) < OLDEST_JAVA) {
            decline("this is Java " + version + "; run the program with a JDK " + OLDEST_JAVA + " or newer");
            return;
        }
        try {
            File jar = new File(Premain.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            // Rewritten classes of any class loader must find {@code Replacements}.
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

package io.rdmaraw.tools.run;

import java.util.ArrayList;
import java.util.List;

/** Builds the command line of another JVM with the same class path. */
public final class JavaCommand {
    /** The system property with the project's directory, set by the launcher. */
    private static final String HOME = "rdmaraw.home";

    private JavaCommand() {
    }

    /** Returns a command line that runs a class with the user's JVM options. The caller may add arguments. */
    public static List<String> of(String mainClass) {
        List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED"));
        String options = System.getenv("RDMA_RAW_JAVA_OPTS");
        if (options != null && !options.isBlank()) {
            command.addAll(List.of(options.strip().split("\\s+")));
        }
        command.addAll(List.of("-D" + HOME + '=' + System.getProperty(HOME, "."), "-cp",
                System.getProperty("java.class.path"), mainClass));
        return command;
    }
}

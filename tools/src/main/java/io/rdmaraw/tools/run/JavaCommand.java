package io.rdmaraw.tools.run;

import java.util.ArrayList;
import java.util.List;

/** Builds the command of another JVM with the same class path. */
public final class JavaCommand {
    /** Names the project's directory; the launcher sets it. */
    private static final String HOME = "rdmaraw.home";

    private JavaCommand() {
    }

    /** Returns a command, to which arguments can be added, that runs a class with the user's own JVM options. */
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

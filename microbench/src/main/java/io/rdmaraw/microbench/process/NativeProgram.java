package io.rdmaraw.microbench.process;

import io.rdmaraw.tools.command.ToolException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Finds the C programs of the benches in the directory of the project. The launcher sets that directory. */
public final class NativeProgram {
    private static final String BENCHES = "microbench/target/native";
    private static final String SOFTVERBS = "transport-rdma-raw-native/target/native";

    private NativeProgram() {
    }

    /** Returns the path of a program that only the benches run. */
    public static String find(String name) {
        return find(BENCHES, name);
    }

    /** Returns the path of {@code pktgen}, which the tests of softverbs also use. */
    public static String findPktgen() {
        return find(SOFTVERBS, "pktgen");
    }

    private static String find(String directory, String name) {
        Path program = inProject(directory).resolve(name);
        if (!Files.isExecutable(program)) {
            throw new ToolException("the C program " + program + " is missing: run the bench by ./rdma-raw bench, which"
                    + " builds it");
        }
        return program.toString();
    }

    /** Returns the {@code LD_LIBRARY_PATH} of a program that runs on softverbs. */
    public static String softverbsPath() {
        return inProject(SOFTVERBS).resolve("lib").toString();
    }

    private static Path inProject(String path) {
        return Path.of(System.getProperty("rdmaraw.home", "."), path).toAbsolutePath();
    }
}

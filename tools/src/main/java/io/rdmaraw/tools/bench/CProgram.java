package io.rdmaraw.tools.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmaraw.tools.ToolException;
import io.rdmaraw.verbs.VerbsDevices;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The C programs that do on the same device what is measured in Java. Built with the native module. */
final class CProgram {
    private final Path directory;

    private CProgram(Path directory) {
        this.directory = directory;
    }

    /** Finds it below the project's directory, which the launcher names in {@code rdmaraw.home}. */
    static CProgram find() {
        Path directory = Path.of(System.getProperty("rdmaraw.home", "."), "transport-rdma-raw-native/target/native");
        if (!Files.isExecutable(directory.resolve("frames-bench"))) {
            throw new ToolException("the C program " + directory.resolve("frames-bench")
                    + " is missing: run the bench by ./rdma-raw bench, which builds it");
        }
        return new CProgram(directory);
    }

    /** Runs a case once; returns nanoseconds per frame. */
    double nanosPerFrame(FramesCase what, FramesBenchOptions options) throws InterruptedException {
        boolean soft = options.device().startsWith(VerbsDevices.SOFT_PREFIX);
        List<String> command = new ArrayList<>(List.of(directory.resolve("frames-bench").toString(), what.modeName(),
                "--device", soft ? options.device().substring(VerbsDevices.SOFT_PREFIX.length()) : options.device(),
                "--burst", Integer.toString(what.burst()), "--seconds", Double.toString(options.runSeconds()),
                "--frame-length", Integer.toString(options.frameBytes())));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        if (soft) {
            builder.environment().put("LD_LIBRARY_PATH", directory.resolve("lib").toString());
        }
        return nanosPerFrame(builder);
    }

    /** Runs a case of {@link QueueCallsBench} once, on an emulated device of the program's own. */
    double callNanosPerFrame(String mode, int bursts, FramesBenchOptions options) throws InterruptedException {
        return nanosPerFrame(new ProcessBuilder(directory.resolve("calls-bench").toString(), mode, options.device(),
                Integer.toString(bursts), Integer.toString(options.frameBytes())).redirectErrorStream(true));
    }

    private static double nanosPerFrame(ProcessBuilder builder) throws InterruptedException {
        List<String> command = builder.command();
        try {
            Process process = builder.start();
            process.getOutputStream().close();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (process.waitFor() != 0) {
                throw new ToolException(String.join(" ", command) + " failed: " + output);
            }
            JsonNode result = new ObjectMapper().readTree(output.substring(output.lastIndexOf('\n') + 1));
            return result.required("nsPerFrame").asDouble();
        } catch (IOException | IllegalArgumentException e) {
            throw new ToolException("cannot run " + command.getFirst() + ": " + e.getMessage(), e);
        }
    }
}

package io.rdmaraw.microbench.frames;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmaraw.microbench.process.NativeProgram;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.verbs.DeviceName;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Runs the C programs that serve as the reference for the Java measurements on the same device. */
final class FramesProgram {
    private final String framesBench = NativeProgram.find("frames-bench");
    private final String callsBench = NativeProgram.find("calls-bench");

    /** Runs a case once and returns the nanoseconds per frame. */
    double nanosPerFrame(FramesCase what, FramesBenchOptions options) throws InterruptedException {
        DeviceName device = new DeviceName(options.device());
        boolean soft = device.isSoftware();
        List<String> command = new ArrayList<>(List.of(framesBench, what.modeName(),
                "--device", device.providerName(),
                "--burst", Integer.toString(what.burst()), "--seconds", Double.toString(options.runSeconds()),
                "--frame-length", Integer.toString(options.frameBytes())));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        if (soft) {
            builder.environment().put("LD_LIBRARY_PATH", NativeProgram.softverbsPath());
        }
        return nanosPerFrame(builder);
    }

    /**
     * Runs a case of {@link QueueCallsBench} once and returns the nanoseconds per frame. The program creates a separate
     * emulated device.
     */
    double callNanosPerFrame(String mode, int bursts, FramesBenchOptions options) throws InterruptedException {
        return nanosPerFrame(new ProcessBuilder(callsBench, mode, options.device(),
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

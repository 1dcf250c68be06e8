package io.rdmaraw.tools.dump;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.server.ServerNetwork;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Runs other programs that read captures. */
final class Programs {
    private Programs() {
    }

    /** Returns the lines of the standard output. If the program is not installed, the test is skipped. */
    static List<String> lines(String... command) throws IOException, InterruptedException {
        try {
            ServerNetwork.require(command[0], command[0]);
        } catch (ToolException e) {
            assumeTrue(false, e.getMessage());
        }
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), String.join(" ", command) + ": " + output);
        return output.lines().toList();
    }
}

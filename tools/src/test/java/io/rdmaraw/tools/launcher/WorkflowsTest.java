package io.rdmaraw.tools.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The workflows of GitHub. */
class WorkflowsTest {
    private static final Path WORKFLOWS = Path.of("..", ".github", "workflows");

    private static List<String> lines() throws IOException {
        try (Stream<Path> files = Files.list(WORKFLOWS)) {
            StringBuilder all = new StringBuilder();
            for (Path file : files.sorted().toList()) {
                all.append(Files.readString(file));
            }
            return all.toString().lines().map(String::strip).toList();
        }
    }

    /** A tag can be moved to other code, a commit cannot. Dependabot updates both the commit and the comment. */
    @Test
    void actionsArePinnedToCommits() throws IOException {
        List<String> uses = lines().stream().filter(line -> line.contains("uses: ")).toList();
        assertTrue(uses.size() >= 10, uses::toString);
        assertEquals(List.of(), uses.stream()
                .filter(line -> !line.matches("(- )?uses: [\\w./-]+@[0-9a-f]{40} # v\\d+\\.\\d+\\.\\d+")).toList());
    }

    /** The ordinary suite leaves these out. */
    @ParameterizedTest
    @ValueSource(strings = {"./rdma-raw test --recipes", "./rdma-raw test PageCommandsTest -Drdmaraw.page=all",
        "./rdma-raw site"})
    void checksOfPagesAreRun(String command) throws IOException {
        assertTrue(lines().stream().anyMatch(line -> line.replace("run: ", "").equals(command)), command);
    }
}

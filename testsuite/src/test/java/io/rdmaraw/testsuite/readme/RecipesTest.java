package io.rdmaraw.testsuite.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The patches of {@code ci/recipes} apply to this tree and change the files that their recipes name. {@code ./rdma-raw
 * test --recipes} compiles and tests them.
 */
class RecipesTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    private static ProjectNames project;
    private static String contributing;

    @BeforeAll
    static void readTheProject() throws IOException {
        project = new ProjectNames(ROOT);
        contributing = Files.readString(ROOT.resolve("CONTRIBUTING.md"));
    }

    static List<RecipePatch> patches() throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.list(ROOT.resolve("ci/recipes"))) {
            files = all.filter(file -> file.toString().endsWith(".patch")).sorted().toList();
        }
        assertTrue(files.size() >= 3, files::toString);
        List<RecipePatch> patches = new ArrayList<>();
        for (Path file : files) {
            patches.add(RecipePatch.read(file));
        }
        return patches;
    }

    @ParameterizedTest
    @MethodSource("patches")
    void patchApplies(RecipePatch patch) throws Exception {
        assertEquals("", check(patch.text()), () -> patch + " follows a recipe of CONTRIBUTING.md and does not apply"
                + " any more: change its lines, and the recipe if files have other names; ci/README.md describes how");
    }

    static List<Path> plantedFaults() throws IOException {
        try (Stream<Path> all = Files.list(ROOT.resolve("ci/lab/contract-mutants"))) {
            return all.sorted().toList();
        }
    }

    /** {@code ./rdma-raw test --contract --mutants} plants these faults. */
    @ParameterizedTest
    @MethodSource("plantedFaults")
    void plantedFaultApplies(Path patch) throws Exception {
        String text = Files.readString(patch);
        assertTrue(text.contains("\nObservation: "), "no observation");
        assertEquals("", check(text), () -> patch + " does not apply any more: change its lines");
    }

    @ParameterizedTest
    @MethodSource("patches")
    void patchChangesFilesOfRecipe(RecipePatch patch) {
        assertEquals("", String.join("\n", patch.complaints(contributing, project)));
    }

    @ParameterizedTest
    @MethodSource("patches")
    void patchAddsTests(RecipePatch patch) {
        assertEquals(List.of(), patch.missingProofs());
    }

    /** Returns what {@code git apply --check} prints; empty if the patch applies. */
    private static String check(String patch) throws Exception {
        ProcessBuilder git = new ProcessBuilder("git", "apply", "--check", "-").directory(ROOT.toFile())
                .redirectErrorStream(true);
        // Within the directory of another repository, git would skip the files.
        git.environment().put("GIT_CEILING_DIRECTORIES", ROOT.getParent().toString());
        Process run;
        try {
            run = git.start();
        } catch (IOException e) {
            assumeTrue(false, "git is not installed");
            throw e;
        }
        try (OutputStream input = run.getOutputStream()) {
            input.write(patch.getBytes(StandardCharsets.UTF_8));
        }
        String printed = new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return run.waitFor() == 0 ? "" : printed + "git has ended with " + run.exitValue();
    }

    private static RecipePatch counter() throws IOException {
        return RecipePatch.read(ROOT.resolve("ci/recipes/counter.patch"));
    }

    /** As after a file was renamed, or after a member in the context was. */
    @ParameterizedTest
    @CsvSource({"tcp/TcpCounters.java, tcp/NoSuchCounters.java", "public long zeroWindowProbes, public long probes"})
    void changedTreeIsFound(String now, String then) throws Exception {
        String text = counter().text();
        assertTrue(text.contains(now), now);
        assertTrue(check(text.replace(now, then)).contains("error: "));
    }

    @Test
    void fileWithoutNameInRecipeIsFound() throws IOException {
        RecipePatch other = new RecipePatch(counter().toString(),
                counter().text().replace("+++ b/docs/reference/observability.md", "+++ b/docs/reference/settings.md"));
        List<String> complaints = other.complaints(contributing, project);
        assertEquals("ci/recipes/counter.patch changes docs/reference/settings.md, which its recipe does not name",
                complaints.getFirst());
        assertTrue(complaints.getLast().contains("does not use docs/reference/observability.md"), complaints::toString);
        assertEquals(2, complaints.size());
    }

    @Test
    void fileLeftOutWithoutReasonIsFound() throws IOException {
        RecipePatch other = new RecipePatch(counter().toString(), counter().text().replace("TcpScreen, ", ""));
        assertEquals(1, other.complaints(contributing, project).size(), other::toString);
    }

    @Test
    void recipeWithoutFileOfPatchIsFound() throws IOException {
        String without = contributing.replace("`TcpCounters`", "the counters");
        assertEquals(List.of("ci/recipes/counter.patch changes"
                + " transport-rdma-raw/src/main/java/io/rdmaraw/tcp/TcpCounters.java, which its recipe does not name"),
                counter().complaints(without, project));
        assertEquals(1, counter().complaints(contributing.replace("### A counter", "### Counters"), project).size());
    }

    @Test
    void patchWithoutTestOfItsOwnIsFound() throws IOException {
        RecipePatch other = new RecipePatch(counter().toString(), counter().text().replace("+    void ", "     void "));
        assertEquals(1, other.missingProofs().size());
    }
}

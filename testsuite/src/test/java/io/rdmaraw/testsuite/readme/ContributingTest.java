package io.rdmaraw.testsuite.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each file, class, member and command named in a table of CONTRIBUTING.md exists. */
class ContributingTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern NAME = Pattern.compile("`([^`]+)`");

    private static ProjectNames project;

    @BeforeAll
    static void readTheProject() throws IOException {
        project = new ProjectNames(ROOT);
    }

    private static List<String> rows() throws IOException {
        return Files.readString(ROOT.resolve("CONTRIBUTING.md")).lines().filter(line -> line.startsWith("| ")).toList();
    }

    private static Stream<String> names(String row) {
        return NAME.matcher(row).results().map((MatchResult result) -> result.group(1));
    }

    @Test
    void eachNameLeadsSomewhere() throws IOException {
        List<String> complaints = rows().stream().flatMap(row -> names(row).map(project::complaint)
                .flatMap(Optional::stream).map(complaint -> complaint + " in the row " + row)).toList();
        assertEquals("", String.join("\n", complaints));
    }

    @Test
    void theTablesAreRead() throws IOException {
        assertTrue(rows().size() > 20, "rows: " + rows().size());
        assertTrue(rows().stream().flatMap(ContributingTest::names).count() > 80);
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp.NoSuchClass", "wire.TcpEngine", "NoSuchClass", "TcpEngine.noSuchMember",
        "*NoSuchConformance", "no_such_file.c", "docs/no-such-page.md", "no-such-directory/", "@NoSuchOption",
        "noSuchMethod()", "NO_SUCH_CONSTANT", "nosuchpackage", "no.such.package", "no-such-metric",
        "./rdma-raw no-such-command",
        "./rdma-raw test --no-such-option", "./mvnw -pl no-such-module verify", "./mvnw test -Dtest=NoSuchTest",
        "./mvnw -Pno-such-profile verify", "make no-such-target", "NO_SUCH_VARIABLE=1", "no such command",
        "./mvnw test -Drdmaraw.noSuchProperty=1"})
    void aWrongNameIsFound(String wrong) {
        assertTrue(project.complaint(wrong).isPresent(), wrong);
    }
}

package io.rdmaraw.testsuite.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Classes and source files named in the design documents exist, and links in the documents lead to existing pages and
 * headings.
 */
class DocumentedNamesTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final List<String> PAGES = List.of("architecture.md", "receiving-and-sending.md",
            "addresses-and-rules.md", "waiting.md", "design-decisions.md", "glossary.md");
    /** A name in backticks: a class, optionally with members or arguments, or the file name of a C source. */
    private static final Pattern NAME = Pattern.compile(
            "`((?:[a-z0-9]+\\.)*[A-Z]\\w*\\*?[a-z][\\w*]*(?:\\.\\w+)*|\\w+\\*?\\.[ch])(?:\\([^`]*\\))?`");
    /** A line of a table of metrics that adds a drop, a copy or an error. */
    private static final Pattern TROUBLE =
            Pattern.compile("\\.(?:(?:drop|otherDrop|copy|error)\\(|ofDevice\\((?:DROP|COPY|ERROR), )\"([^\"]+)\"");
    /** A link to a file or a heading, or the picture of a page. Links to other sites have a colon. */
    private static final Pattern LINK =
            Pattern.compile("\\]\\(([^)#:\\s]+)?(#[^)\\s]+)?\\)|\\b(?:src|srcset)=\"([^\":]+)\"");

    private static ProjectNames project;

    @BeforeAll
    static void readTheProject() throws IOException {
        project = new ProjectNames(ROOT);
    }

    @ParameterizedTest
    @ValueSource(strings = {"architecture.md", "receiving-and-sending.md", "addresses-and-rules.md", "waiting.md",
        "design-decisions.md", "glossary.md"})
    void namesLeadSomewhere(String page) throws IOException {
        List<String> complaints = complaints(Files.readString(ROOT.resolve("docs/design").resolve(page)));
        assertTrue(complaints.isEmpty(), () -> "docs/design/" + page + ": " + String.join("\n", complaints));
    }

    @Test
    void manyNamesAreRead() throws IOException {
        long names = 0;
        for (String page : PAGES) {
            names += NAME.matcher(Files.readString(ROOT.resolve("docs/design").resolve(page))).results().count();
        }
        assertTrue(names > 180, "names: " + names);
    }

    @ParameterizedTest
    @ValueSource(strings = {"`NoSuchClass`", "`TcpStack.noSuchMember`", "`DeviceQueue.noSuchMember(own, rss)`",
        "`no_such_file.c`", "`NoSuch*Test`", "`tcp.RdmaRawChannel`"})
    void aWrongNameIsFound(String text) {
        assertTrue(complaints(text).size() == 1, text);
    }

    /** Servers without capabilities need a newer kernel than others, so their files begin with it. */
    @ParameterizedTest
    @ValueSource(strings = {"pod.yaml", "daemonset.yaml", "server.yaml"})
    void kubernetesFilesBeginWithTheKernelTheyNeed(String file) throws IOException {
        List<String> head = Files.readAllLines(ROOT.resolve("examples/kubernetes").resolve(file)).stream()
                .takeWhile(line -> line.startsWith("#")).toList();
        assertTrue(String.join(" ", head).replace(" # ", " ").contains("Linux 6.17 or newer"), head::toString);
    }

    /** `top` shows every drop, copy and error, so the reference explains each of them. */
    @Test
    void referenceListsEachDropCopyAndError() throws IOException {
        String page = Files.readString(ROOT.resolve("docs/reference/observability.md"));
        List<String> names = new ArrayList<>();
        try (Stream<Path> files = Files.walk(ROOT.resolve("transport-rdma-raw/src/main/java"))) {
            for (Path file : files.filter(file -> file.toString().endsWith("Statistics.java")).toList()) {
                TROUBLE.matcher(Files.readString(file)).results().map((MatchResult name) -> name.group(1))
                        .forEach(names::add);
            }
        }
        assertTrue(names.size() > 70, "names: " + names.size());
        assertEquals(List.of(), names.stream().filter(name -> !page.contains('`' + name + '`')).toList());
    }

    @Test
    void linksLeadToPagesAndHeadings() throws IOException {
        List<String> broken = new ArrayList<>();
        for (Path page : pagesWithLinks()) {
            Matcher link = LINK.matcher(Files.readString(page));
            while (link.find()) {
                if (!isThere(page, link.group(3) == null ? link.group(1) : link.group(3), link.group(2))) {
                    broken.add(ROOT.relativize(page) + ": " + link.group());
                }
            }
        }
        assertTrue(broken.isEmpty(), broken::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"[a](no-such-page.md)", "[a](ci/no-such-file.yml)", "[a](README.md#no-such-heading)",
        "<img src=\"no-such-picture.svg\">"})
    void brokenLinkIsFound(String text) throws IOException {
        Matcher link = LINK.matcher("[a](LICENSE) [b](https://example.org/a.md) " + text);
        Path page = ROOT.resolve("README.md");
        assertTrue(link.find() && isThere(page, link.group(1), link.group(2)));
        assertTrue(link.find());
        assertFalse(isThere(page, link.group(3) == null ? link.group(1) : link.group(3), link.group(2)));
    }

    /** Returns all documents in docs, examples and ci, and the top-level ones. */
    private static List<Path> pagesWithLinks() throws IOException {
        List<Path> pages = new ArrayList<>();
        for (String folder : List.of("docs", "examples", "ci")) {
            try (Stream<Path> files = Files.walk(ROOT.resolve(folder))) {
                files.filter(file -> file.toString().endsWith(".md")).forEach(pages::add);
            }
        }
        try (Stream<Path> files = Files.list(ROOT)) {
            files.filter(file -> file.toString().endsWith(".md")).forEach(pages::add);
        }
        return pages;
    }

    private static boolean isThere(Path page, String fileOrNull, String anchorOrNull) throws IOException {
        Path target = fileOrNull == null ? page : page.resolveSibling(fileOrNull);
        if (anchorOrNull == null || !Files.isRegularFile(target)) {
            return anchorOrNull == null && Files.exists(target);
        }
        return Files.readString(target).lines().filter(line -> line.startsWith("#"))
                .anyMatch(line -> anchorOf(line).equals(anchorOrNull.substring(1)));
    }

    /** Returns the anchor that GitHub generates for a heading. */
    private static String anchorOf(String heading) {
        return heading.replaceFirst("^#+ ", "").toLowerCase().replaceAll("[^\\w -]", "").replace(' ', '-');
    }

    private static List<String> complaints(String text) {
        return NAME.matcher(text).results().map((MatchResult name) -> name.group(1)).distinct()
                .map(project::complaint).flatMap(Optional::stream).toList();
    }
}

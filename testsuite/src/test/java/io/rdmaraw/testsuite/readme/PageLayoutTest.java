package io.rdmaraw.testsuite.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The limits for pages: columns, words, and records that belong to docs/lab. */
class PageLayoutTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final int MAX_COLUMNS = 120;
    private static final int MAX_CELL_WORDS = 30;
    private static final int MAX_README_LINES = 110;
    private static final int MAX_README_WORDS = 900;
    private static final int MAX_WORDS_OUTSIDE_LAB = 35_000;
    private static final Pattern WORD = Pattern.compile("\\S*\\w\\S*");
    /** A commit hash, or the date of a run. */
    private static final Pattern RECORD = Pattern.compile(
            "\\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}\\b|\\b20\\d\\d-[01]\\d-[0-3]\\d\\b");
    private static final Pattern GENERATED_PAGE = Pattern.compile("^(Made|Written) by `", Pattern.MULTILINE);
    private static final Pattern GENERATED_PART = Pattern.compile("(made|written) by ");
    /** The qualified name of a class in a command or a sentence. */
    private static final Pattern CLASS = Pattern.compile("\\bio\\.rdmaraw(?:\\.[a-z]\\w*)+\\.[A-Z]\\w*");

    private static List<Path> pages() throws IOException {
        List<Path> pages = new ArrayList<>();
        for (String folder : List.of("docs", "examples", "ci")) {
            try (Stream<Path> files = Files.walk(ROOT.resolve(folder))) {
                files.filter(file -> file.toString().endsWith(".md") && !file.toString().contains("/target/"))
                        .sorted().forEach(pages::add);
            }
        }
        try (Stream<Path> top = Files.list(ROOT)) {
            top.filter(file -> file.toString().endsWith(".md")).sorted().forEach(pages::add);
        }
        assertTrue(pages.size() > 60, "pages: " + pages);
        return pages;
    }

    private static boolean isRecord(Path page) {
        return page.startsWith(ROOT.resolve("docs/lab"));
    }

    /** Of records, only the columns count, and not those of lines that a command has written. */
    private static List<String> complaints(String page, String text) {
        List<String> complaints = new ArrayList<>();
        boolean isRecord = page.startsWith("docs/lab");
        boolean isOutput = false;
        boolean isGenerated = isRecord && GENERATED_PAGE.matcher(text).find();
        int number = 0;
        for (String line : text.lines().toList()) {
            number++;
            if (line.startsWith("```")) {
                isOutput = line.equals("```text") || line.equals("```console");
            }
            if (line.startsWith("<!--")) {
                isGenerated = GENERATED_PART.matcher(line).find();
            }
            if (line.startsWith("|")) {
                for (String cell : line.split("(?<!\\\\)\\|")) {
                    if (words(cell) > MAX_CELL_WORDS && !isRecord) {
                        complaints.add(page + ":" + number + ": " + words(cell) + " words in a cell");
                    }
                }
            } else if (line.length() > MAX_COLUMNS && !isOutput && !isGenerated && !line.startsWith("<picture>")
                    && !line.contains("://")) {
                complaints.add(page + ":" + number + ": " + line.length() + " columns");
            }
            if ((page.startsWith("docs/guide") || page.startsWith("docs/reference")) && RECORD.matcher(line).find()) {
                complaints.add(page + ":" + number + ": a commit or a date belongs to docs/lab");
            }
        }
        return complaints;
    }

    private static long words(String text) {
        return WORD.matcher(text).results().count();
    }

    @Test
    void pagesKeepTheirLimits() throws IOException {
        List<String> complaints = new ArrayList<>();
        for (Path page : pages()) {
            complaints.addAll(complaints(ROOT.relativize(page).toString(), Files.readString(page)));
        }
        assertEquals("", String.join("\n", complaints));
    }

    @Test
    void readmeIsShort() throws IOException {
        String readme = Files.readString(ROOT.resolve("README.md"));
        assertTrue(readme.lines().count() <= MAX_README_LINES, readme.lines().count() + " lines");
        assertTrue(readme.split("\\s+").length <= MAX_README_WORDS, readme.split("\\s+").length + " words");
    }

    @Test
    void documentsOutsideOfTheLabAreShort() throws IOException {
        long words = 0;
        for (Path page : pages()) {
            if (page.startsWith(ROOT.resolve("docs")) && !isRecord(page)) {
                words += words(Files.readString(page));
            }
        }
        assertTrue(words <= MAX_WORDS_OUTSIDE_LAB, words + " words");
    }

    /** Commands such as {@code java -cp ... io.rdmaraw.tools.Main} are not run where the class path is the reader's. */
    @Test
    void classesOfCommandsExist() throws IOException {
        Set<String> classes = new HashSet<>();
        List<Path> modules;
        try (Stream<Path> top = Files.list(ROOT)) {
            modules = top.map(module -> module.resolve("src/main/java")).filter(Files::isDirectory).toList();
        }
        for (Path sources : modules) {
            try (Stream<Path> files = Files.walk(sources)) {
                files.map(file -> sources.relativize(file).toString()).filter(file -> file.endsWith(".java"))
                        .forEach(file -> classes.add(file.replace(".java", "").replace('/', '.')));
            }
        }
        List<String> missing = new ArrayList<>();
        for (Path page : pages().stream().filter(page -> !isRecord(page)).toList()) {
            CLASS.matcher(Files.readString(page)).results().map(MatchResult::group)
                    .filter(name -> !classes.contains(name))
                    .forEach(name -> missing.add(ROOT.relativize(page) + ": " + name));
        }
        assertEquals(List.of(), missing);
    }

    @ParameterizedTest
    @CsvSource({"docs/guide/a.md, measured at 8dcf83bb", "docs/reference/a.md, 'on 2026-11-29, 2 cores'"})
    void recordIsFound(String page, String text) {
        assertEquals(List.of(page + ":2: a commit or a date belongs to docs/lab"), complaints(page, "\n" + text));
    }

    @Test
    void longLineAndLongCellAreFound() {
        String words = "word ".repeat(MAX_CELL_WORDS + 1);
        assertEquals(List.of("README.md:1: 155 columns", "README.md:2: 31 words in a cell"),
                complaints("README.md", words + "\n| a | " + words + "| " + words.substring(5) + "|\n```text\n" + words
                        + "\n```\nhttps://example.org/" + "a".repeat(MAX_COLUMNS)));
    }
}

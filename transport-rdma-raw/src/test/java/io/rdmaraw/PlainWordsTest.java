package io.rdmaraw;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Names, comments, messages and documents use the field's terms. The words below stand for something with a standard
 * term, or replace the subject of the sentence; docs/design/glossary.md has the terms of this project.
 */
class PlainWordsTest {
    private static final Path ROOT = Path.of("..");
    /** Minimum number of files, to detect a check that searches the wrong directory. */
    private static final int MIN_FILES = 450;

    /** A word to avoid and its replacement. */
    private record Word(Pattern pattern, String instead) {
        private static Word of(String regex, String instead) {
            return new Word(Pattern.compile(regex, Pattern.CASE_INSENSITIVE), instead);
        }
    }

    /** Words to avoid in names, comments, messages and documents. */
    private static final List<Word> WORDS = List.of(
            Word.of("stranger", "unsolicited segment, unknown sender"),
            Word.of("guest", "NIO channel, or what the thing is"),
            Word.of("(?<!\\.)newcomer", "new connection"),
            Word.of("census", "dump (as inet_diag), snapshot"),
            Word.of("(?<![a-z])stray", "unmatched segment: no connection on this event loop has it"),
            Word.of("unquiet", "kernel-visible"),
            Word.of("nobody", "name who is meant: no process, no handler, no socket; or use the passive"),
            Word.of("whoever|whomever", "name who is meant: the caller, the last holder, a client that"),
            Word.of("somebody|anybody|everybody", "name who is meant: another process, a handler, the peer"),
            Word.of("\\b(he|his|him)\\b", "the user, the peer, the caller; it; they"),
            Word.of("\\bamid\\b", "in the middle of, during"),
            Word.of("\\bin earnest\\b", "in production"),
            Word.of("\\bado\\b", "overhead, work"),
            Word.of("\\bin vain\\b", "without effect, without a frame"),
            Word.of("given, never taken", "never reads the clock: callers pass the time"));

    /** Words that are too vague for a name. In a sentence they are normal English. */
    private static final List<Word> NAMES = List.of(
            Word.of("(?-i:[sS]pread)", "rss"),
            Word.of("touched", "ready, notified, used"));

    private static final Pattern NOT_A_NAME = Pattern.compile(
            "/\\*.*?\\*/|//[^\\n]*|\"\"\".*?\"\"\""
            + "|\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])+'", Pattern.DOTALL);

    @Test
    void sourcesAndDocumentsUseStandardTerms() throws IOException {
        List<Path> files = files();
        assertTrue(files.size() >= MIN_FILES, files.size() + " files below " + ROOT.toRealPath());
        List<String> findings = new ArrayList<>();
        for (Path file : files) {
            find(ROOT.relativize(file).toString(), Files.readString(file), findings);
        }
        assertTrue(findings.isEmpty(), () -> "words to replace (docs/design/glossary.md has the terms):\n"
                + String.join("\n", findings));
    }

    private static List<Path> files() throws IOException {
        List<Path> files = new ArrayList<>();
        add(files, "transport-rdma-raw/src/main/java", ".java");
        add(files, "transport-rdma-raw-native/softverbs", ".c", ".h");
        add(files, "transport-rdma-raw-native/bpf", ".c", ".h");
        add(files, "docs", ".md");
        files.add(ROOT.resolve("README.md"));
        return files;
    }

    private static void add(List<Path> files, String directory, String... endings) throws IOException {
        try (Stream<Path> all = Files.walk(ROOT.resolve(directory))) {
            all.filter(file -> Stream.of(endings).anyMatch(file.toString()::endsWith)).sorted().forEach(files::add);
        }
    }

    private static void find(String file, String text, List<String> findings) {
        find(file, text, WORDS, findings);
        if (!file.endsWith(".md")) {
            find(file, namesOf(text), NAMES, findings);
        }
    }

    private static void find(String file, String text, List<Word> words, List<String> findings) {
        for (Word word : words) {
            Matcher found = word.pattern.matcher(text);
            while (found.find()) {
                long line = text.substring(0, found.start()).lines().count();
                boolean startsLine = found.start() == 0 || text.charAt(found.start() - 1) == '\n';
                findings.add(file + ":" + (startsLine ? line + 1 : line) + ": \"" + found.group()
                        + "\": say instead: " + word.instead);
            }
        }
    }

    /** Returns the source with comments, strings and characters blanked. Line numbers remain valid. */
    private static String namesOf(String source) {
        return NOT_A_NAME.matcher(source).replaceAll(found -> found.group().replaceAll("[^\\n]", " "));
    }

    @ParameterizedTest
    @CsvSource({"A.java, int strangerDrops;", "A.java, /** Nobody reads it. */", "A.java, boolean isSpread()",
        "a.c, // Whoever comes", "a.h, int touched_count;", "a.md, What he writes"})
    void wordToAvoidIsFound(String file, String text) {
        List<String> findings = new ArrayList<>();
        find(file, "\n\n" + text + "\n", findings);
        assertEquals(1, findings.size(), findings::toString);
        assertTrue(findings.getFirst().startsWith(file + ":3: "), findings::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"// flows are spread over queues", "log(\"memory touched twice\")", "the channel; this",
        "/* first touched\n by the loop */", "astray", "vainly"})
    void ordinaryEnglishIsAccepted(String text) {
        List<String> findings = new ArrayList<>();
        find("A.java", text, findings);
        assertEquals(List.of(), findings);
    }
}

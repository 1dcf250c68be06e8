package io.rdmaraw.testsuite.script;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;

/**
 * The TCP scripts of google/packetdrill, each with the scripts and tests of this project that check the same
 * behaviour. {@link #table} writes them as a table for the documentation.
 */
final class Packetdrill {
    private static final int FIELDS = 5;

    /** Whether this project checks the same behaviour. */
    enum State {
        COVERED("covered"), NOT_APPLICABLE("cannot apply"), OPEN("**open**");

        private final String words;

        State(String words) {
            this.words = words;
        }
    }

    /**
     * A script of packetdrill.
     *
     * @param path    its path below gtests/net
     * @param text    the behaviour it checks
     * @param scripts names of this project's scripts
     * @param tests   this project's tests: classes or methods
     * @param note    why the script cannot apply, or the missing part
     */
    record Line(String path, String text, State state, List<String> scripts, List<String> tests, String note) {
    }

    private Packetdrill() {
    }

    static List<Line> all() {
        return text().lines().filter(line -> !line.startsWith("#")).map(Packetdrill::parse).toList();
    }

    private static String text() {
        try (InputStream in = Packetdrill.class.getResourceAsStream("packetdrill.txt")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Line parse(String line) {
        String[] fields = line.split("\\|", -1);
        if (fields.length != FIELDS) {
            throw new IllegalStateException("not " + FIELDS + " fields: " + line);
        }
        List<String> shown = Stream.of(fields[3].split("; ")).filter(name -> !name.isEmpty()).toList();
        List<String> scripts = shown.stream().filter(name -> name.startsWith("\""))
                .map(name -> name.substring(1, name.length() - 1)).toList();
        List<String> tests = shown.stream().filter(name -> !name.startsWith("\""))
                .flatMap(names -> Stream.of(names.split(", "))).toList();
        return new Line(fields[0], fields[1], State.valueOf(fields[2]), scripts, tests, fields[4]);
    }

    /** Returns the table as Markdown. */
    static String table() {
        StringBuilder text = new StringBuilder("| Script | What it checks | | By what of ours | Why |\n")
                .append("|---|---|---|---|---|\n");
        for (Line line : all()) {
            List<String> shown = Stream.concat(line.scripts().stream().map(script -> '"' + script + '"'),
                    line.tests().stream().map(test -> '`' + test.replaceAll("\\..*", "") + '`')).distinct().toList();
            text.append("| ").append(line.path()).append(" | ").append(line.text()).append(" | ")
                    .append(line.state().words).append(" | ").append(String.join(", ", shown)).append(" | ")
                    .append(line.note()).append(" |\n");
        }
        return text.toString();
    }
}

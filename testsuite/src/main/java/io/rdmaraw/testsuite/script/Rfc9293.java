package io.rdmaraw.testsuite.script;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The requirements of RFC 9293, appendix B, each with the scripts and tests that verify it. {@link #table} writes
 * them as a table for docs/lab/rfc9293.md.
 */
final class Rfc9293 {
    private static final int FIELDS = 5;

    private Rfc9293() {
    }

    /** Returns the sections of the appendix in order, each with its requirements. */
    static Map<String, List<Requirement>> sections() {
        Map<String, List<Requirement>> sections = new LinkedHashMap<>();
        List<Requirement> section = List.of();
        for (String line : text().split("\n")) {
            if (line.startsWith("= ")) {
                section = sections.computeIfAbsent(line.substring(2), name -> new ArrayList<>());
            } else if (!line.startsWith("#")) {
                section.add(parse(line));
            }
        }
        return sections;
    }

    static List<Requirement> all() {
        return sections().values().stream().flatMap(List::stream).toList();
    }

    private static String text() {
        try (InputStream in = Rfc9293.class.getResourceAsStream("rfc9293.txt")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Requirement parse(String line) {
        String[] fields = line.split("\\|", -1);
        if (fields.length != FIELDS) {
            throw new IllegalStateException("not " + FIELDS + " fields: " + line);
        }
        List<String> tests = fields[3].isEmpty() ? List.of() : List.of(fields[3].split(", "));
        return new Requirement(fields[0], fields[1], Requirement.State.valueOf(fields[2]), tests, fields[4]);
    }

    /** Returns the scripts that verify a requirement. */
    static List<Script> scriptsOf(Requirement requirement) {
        return Scripts.all().stream().filter(script -> script.proves().contains(requirement.id())).toList();
    }

    /** Returns the table as Markdown. */
    static String table() {
        StringBuilder text = new StringBuilder("| Label | What it asks | | Shown by | Why |\n|---|---|---|---|---|\n");
        sections().forEach((name, requirements) -> {
            text.append("| **").append(name).append("** | | | | |\n");
            for (Requirement r : requirements) {
                List<String> shown = new ArrayList<>();
                scriptsOf(r).forEach(script -> shown.add('"' + script.name() + '"'));
                r.tests().forEach(test -> shown.add('`' + test.replaceAll("\\..*", "") + '`'));
                text.append("| ").append(r.id()).append(" | ").append(r.text()).append(" | ")
                        .append(r.state().words()).append(" | ")
                        .append(String.join(", ", shown.stream().distinct().toList())).append(" | ").append(r.note())
                        .append(" |\n");
            }
        });
        return text.toString();
    }
}

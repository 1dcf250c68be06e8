package io.rdmaraw.testsuite.script;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Checks the table of packetdrill's scripts: each script has a line, and each line names existing scripts and
 * tests.
 */
class PacketdrillTest {
    private static final int SCRIPTS = 177;
    private static final Path DOCUMENT = Path.of("..").resolve("docs/lab/packetdrill.md");
    private static final String BEGIN = "<!-- map: made by PacketdrillTest, -Drdmaraw.writeTables=true -->\n";
    private static final String END = "<!-- end of map -->\n";

    @Test
    void eachScriptHasOneLine() {
        List<String> paths = Packetdrill.all().stream().map(Packetdrill.Line::path).toList();
        assertEquals(SCRIPTS, paths.size());
        assertEquals(SCRIPTS, new TreeSet<>(paths).size());
    }

    @Test
    void coveredScriptsNameExistingChecksAndOthersStateWhy() throws IOException {
        Set<String> scripts = Scripts.all().stream().map(Script::name).collect(Collectors.toSet());
        for (Packetdrill.Line line : Packetdrill.all()) {
            boolean shown = !line.scripts().isEmpty() || !line.tests().isEmpty();
            assertEquals(line.state() == Packetdrill.State.COVERED, shown, line.path());
            assertTrue(line.state() == Packetdrill.State.COVERED || !line.note().isEmpty(), line.path());
            for (String script : line.scripts()) {
                assertTrue(scripts.contains(script), line.path() + " names " + script);
            }
            for (String test : line.tests()) {
                assertTrue(Rfc9293Test.exists(test), line.path() + " names " + test);
            }
        }
    }

    @Test
    void documentContainsTheTable() throws IOException {
        String document = Files.readString(DOCUMENT);
        int begin = document.indexOf(BEGIN) + BEGIN.length();
        int end = document.indexOf(END);
        assertFalse(begin < BEGIN.length() || end < begin, "docs/lab/packetdrill.md has no place for the map");
        if (Boolean.getBoolean("rdmaraw.writeTables")) {
            Files.writeString(DOCUMENT, document.substring(0, begin) + Packetdrill.table() + document.substring(end));
            return;
        }
        assertEquals(Packetdrill.table(), document.substring(begin, end),
                "run this test with -Drdmaraw.writeTables=true, and read what it has changed");
    }
}

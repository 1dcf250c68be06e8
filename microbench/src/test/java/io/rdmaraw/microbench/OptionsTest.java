package io.rdmaraw.microbench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** An option has the same meaning in every command: its letter, its long name, and whether it has a value. */
class OptionsTest {
    /** Excluded, because their letters are those of iproute2's ss and of tcpdump. */
    private static final Set<String> OTHER_LETTERS = Set.of("ss", "dump");
    /** Commands with the letters of perftest. Other commands may use such a letter only for the same option. */
    private static final Set<String> PERFTEST = Set.of("bw", "lat", "burst-lat", "flow-rate");
    private static final Pattern DOCUMENTED = Pattern.compile("`-(\\w)`\\s+`--([\\w-]+)`");

    private record Use(String command, OptionSpec option) {
        Stream<String> names(boolean letters) {
            return Arrays.stream(option.names()).filter(name -> (name.length() == 2) == letters);
        }

        @Override
        public String toString() {
            return command + ' ' + String.join("|", option.names()) + ' ' + option.paramLabel();
        }
    }

    private static List<Use> uses() {
        List<Use> uses = new ArrayList<>();
        collect(DocumentedCommandsTest.everything(), "", uses);
        uses.removeIf(use -> OTHER_LETTERS.contains(use.command()));
        assertTrue(uses.size() > 200, uses.size() + " options are read");
        return uses;
    }

    private static void collect(CommandLine command, String name, List<Use> uses) {
        command.getCommandSpec().options().forEach(option -> uses.add(new Use(name, option)));
        command.getSubcommands().forEach((each, sub) -> collect(sub, (name + ' ' + each).strip(), uses));
    }

    private static Map<String, List<Use>> byName(boolean letters) {
        Map<String, List<Use>> byName = new TreeMap<>();
        for (Use use : uses()) {
            use.names(letters).forEach(name -> byName.computeIfAbsent(name, key -> new ArrayList<>()).add(use));
        }
        return byName;
    }

    @Test
    void aLetterHasOneLongName() {
        Map<String, List<Use>> wrong = new TreeMap<>();
        byName(true).forEach((letter, uses) -> {
            Set<String> common = new HashSet<>(uses.getFirst().names(false).toList());
            uses.forEach(use -> common.retainAll(use.names(false).toList()));
            if (common.isEmpty()) {
                wrong.put(letter, uses);
            }
        });
        assertEquals(Map.of(), wrong);
    }

    @Test
    void aLongNameHasOneLetterAndTakesAValueEverywhereOrNowhere() {
        Map<String, List<Use>> wrong = new TreeMap<>();
        byName(false).forEach((name, uses) -> {
            long letters = uses.stream().flatMap(use -> use.names(true)).distinct().count();
            long shapes = uses.stream().map(use -> use.option().arity().max() > 0).distinct().count();
            if (letters > 1 || shapes > 1) {
                wrong.put(name, uses);
            }
        });
        assertEquals(Map.of(), wrong);
    }

    /** The completion contains a separate list for the commands that the launcher starts in other programs. */
    @Test
    void completionHasTheCommandsOfBenchAndExample() {
        StringWriter out = new StringWriter();
        assertEquals(0, io.rdmaraw.tools.Main.commandLine().setOut(new PrintWriter(out)).execute("completion"));
        for (String name : List.of("bench", "example")) {
            String function = out.toString().split("function _picocli_rdma-raw_" + name + "\\(\\) ", 2)[1];
            List<String> completed = List.of(function.split("local commands=\"", 2)[1].split("\"", 2)[0].split(" "));
            DocumentedCommandsTest.everything().getSubcommands().get(name).getSubcommands().forEach((word, command) ->
                    assertTrue(completed.contains(word) || command.getCommandSpec().usageMessage().hidden(), word));
        }
    }

    /** The page lists all letters except those of perftest, which its own documentation describes. */
    @Test
    void thePageOfToolsHasTheLettersOfAllButPerftest() throws IOException {
        Set<String> expected = new TreeSet<>();
        byName(true).forEach((letter, uses) -> {
            if (!letter.matches("-[hV]") && uses.stream().anyMatch(use -> !PERFTEST.contains(use.command()))) {
                expected.add(letter);
            }
        });
        Map<String, List<Use>> byLetter = byName(true);
        Set<String> documented = new TreeSet<>();
        Matcher matcher = DOCUMENTED.matcher(Files.readString(Path.of("../docs/reference/tools.md")));
        while (matcher.find()) {
            String letter = "-" + matcher.group(1);
            documented.add(letter);
            assertTrue(byLetter.getOrDefault(letter, List.of()).stream()
                    .anyMatch(use -> use.names(false).toList().contains("--" + matcher.group(2))), matcher.group());
        }
        assertEquals(expected, documented);
    }
}

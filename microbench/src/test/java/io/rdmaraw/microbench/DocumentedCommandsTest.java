package io.rdmaraw.microbench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Every {@code ./rdma-raw} command in the documents is valid, so that readers can copy it. */
class DocumentedCommandsTest {
    private static final Path PROJECT = Path.of("..");
    /** A command: a whole line in a code block, or the text between backticks in a sentence. */
    private static final Pattern COMMAND = Pattern.compile("(?m)(?:^|[`$ ])\\./rdma-raw ([^`\n]*)");
    private static final String GENERATED = ", do not edit. ";
    private static final List<String> LAUNCHER = List.of("test", "build", "install", "release", "java", "sim",
            "site", "hardware-check", "help", "--version");

    private record Found(String page, String text) {
    }

    private static List<Found> commands() throws IOException {
        List<Found> found = new ArrayList<>();
        try (Stream<Path> pages = Stream.concat(Files.walk(PROJECT.resolve("docs")), Stream.of(
                PROJECT.resolve("README.md"), PROJECT.resolve("CONTRIBUTING.md"),
                PROJECT.resolve("examples/README.md")))) {
            for (Path page : pages.filter(each -> each.toString().endsWith(".md")).toList()) {
                String text = Files.readString(page);
                // A generated page quotes messages. There, a sentence may continue after a command.
                if (text.contains(GENERATED)) {
                    continue;
                }
                Matcher matcher = COMMAND.matcher(text.replace("\\\n", " "));
                while (matcher.find()) {
                    found.add(new Found(page.toString(), matcher.group(1).strip()));
                }
            }
        }
        return found;
    }

    static CommandLine everything() {
        CommandLine root = io.rdmaraw.tools.Main.commandLine();
        Main.commandLine().getSubcommands().forEach(root::addSubcommand);
        root.addSubcommand("example", io.rdmaraw.examples.Main.commandLine());
        return root;
    }

    /** Splits a command into words as the shell does, up to another command or a comment. Quotes may contain spaces. */
    private static String[] words(String text) {
        Matcher word = Pattern.compile("(?:[^\\s'\"]|'[^']*'|\"[^\"]*\")+").matcher(text);
        return word.results().map(MatchResult::group).takeWhile(each -> !each.matches("[|&;#>].*"))
                .map(each -> each.replaceAll("['\"]|;$", "")).toArray(String[]::new);
    }

    /**
     * Returns whether a command is only a template. Words in capitals are placeholders, and options in brackets are
     * optional.
     */
    private static boolean isTemplate(String text) {
        return text.contains("...") || text.contains("[") || text.contains("$(") || text.contains("-->")
                || Stream.of(words(text)).anyMatch(word -> word.matches("(--[a-z-]+=)?[A-Z][A-Z0-9_-]*|\\w+\\|.*"));
    }

    @Test
    void everyCommandIsTaken() throws IOException {
        Map<String, String> wrong = new TreeMap<>();
        int checked = 0;
        CommandLine everything = everything();
        for (Found each : commands()) {
            String[] words = words(each.text());
            if (words.length == 0 || LAUNCHER.contains(words[0]) || isTemplate(each.text())
                    || List.of("vertx", "reactor-netty", "grpc", "spring-boot").contains(words[words.length > 1 ? 1
                            : 0])) {
                continue;
            }
            checked++;
            try {
                everything.parseArgs(words);
            } catch (ParameterException e) {
                wrong.put(each.page() + ": " + each.text(), e.getMessage());
            }
        }
        assertEquals(Map.of(), wrong);
        assertTrue(checked > 50, checked + " commands");
    }

    /** Even in a template, the command and its options must exist. */
    @Test
    void everyOptionOfATemplateIsThere() throws IOException {
        Map<String, String> wrong = new TreeMap<>();
        Map<String, CommandLine> everything = everything().getSubcommands();
        for (Found each : commands()) {
            String[] words = words(each.text());
            if (words.length == 0 || LAUNCHER.contains(words[0]) || each.text().contains("-->")
                    || !words[0].matches("[a-z-]+")) {
                continue;
            }
            CommandLine command = everything.get(words[0]);
            if (command == null) {
                wrong.put(each.page() + ": " + each.text(), "no command " + words[0]);
            } else if (words.length > 1 && command.getSubcommands().containsKey(words[1])) {
                command = command.getSubcommands().get(words[1]);
            }
            for (String word : words) {
                if (command != null && word.matches("--[a-z][a-z_-]+") && !words[0].equals("example")
                        && command.getCommandSpec().findOption(word) == null) {
                    wrong.put(each.page() + ": " + each.text(), "no option " + word);
                }
            }
        }
        assertEquals(Map.of(), wrong);
    }
}

package io.rdmaraw.microbench.pages;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A command in a code block of a page.
 *
 * @param page         path of the page in the project
 * @param text         command line; lines that end in a backslash are joined
 * @param outputOrNull output according to the page, or null if the page shows none
 */
record PageCommand(String page, String text, String outputOrNull) {
    private static final Path PROJECT = Path.of("..");
    private static final String GENERATED = ", do not edit. ";

    /** Returns all pages except those that a command of the launcher generates. */
    static List<String> pages() {
        try (Stream<Path> docs = Files.walk(PROJECT.resolve("docs"));
                Stream<Path> examples = Files.walk(PROJECT.resolve("examples"));
                Stream<Path> top = Files.list(PROJECT)) {
            return Stream.of(docs, examples, top).flatMap(each -> each).filter(file -> file.toString().endsWith(".md")
                    && !file.toString().contains("/target/")).map(file -> PROJECT.relativize(file).toString())
                    .filter(page -> !text(page).contains(GENERATED)).sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String text(String page) {
        try {
            return Files.readString(PROJECT.resolve(page));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the commands of a page in order. */
    static List<PageCommand> of(String page) {
        List<PageCommand> commands = new ArrayList<>();
        String[] parts = text(page).split("(?m)^```", -1);
        for (int i = 1; i < parts.length; i += 2) {
            int end = parts[i].indexOf('\n');
            String language = parts[i].substring(0, end);
            String block = parts[i].substring(end + 1);
            switch (language) {
                case "sh" -> block.replace("\\\n", " ").lines().filter(line -> !line.isBlank())
                        .forEach(line -> commands.add(new PageCommand(page, line, null)));
                case "console" -> {
                    if (!block.startsWith("$ ")) {
                        throw new AssertionError(page + ": a block of output without a command is ```text: " + block);
                    }
                    for (String step : block.split("(?m)^\\$ ")) {
                        if (!step.isBlank()) {
                            String[] lines = step.split("\n", 2);
                            commands.add(new PageCommand(page, lines[0], lines[1].strip()));
                        }
                    }
                }
                default -> {
                    if (block.lines().anyMatch(line -> line.matches("(\\$ |sudo )?\\./rdma-raw .*|\\$ .*"))) {
                        throw new AssertionError(page + ": a block with commands is ```sh or ```console: " + block);
                    }
                }
            }
        }
        return commands;
    }

    /** Returns the first code block in a language. */
    static String block(String page, String language) {
        return text(page).split("(?m)^```" + language + "\n")[1].split("(?m)^```")[0];
    }
}

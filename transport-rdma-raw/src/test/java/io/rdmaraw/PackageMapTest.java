package io.rdmaraw;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The maps of the large packages, in their package-info.java, are whole and true. */
class PackageMapTest {
    private static final Path SOURCES = Path.of("src/main/java/io/rdmaraw");
    private static final String MAP = "package-info.java";
    private static final Pattern WORD = Pattern.compile("\\b[A-Z]\\w+");
    /** No word of a sentence looks so. */
    private static final Pattern HUMPS = Pattern.compile("[a-z][A-Z]");

    @ParameterizedTest
    @ValueSource(strings = {"channel", "host"})
    void everyClassIsInAGroup(String name) throws IOException {
        Set<String> missing = classes(name);
        missing.removeAll(named(name));
        assertEquals(Set.of(), missing, "classes to be added to a group in the " + MAP + " of " + name);
    }

    @ParameterizedTest
    @ValueSource(strings = {"channel", "host"})
    void whatIsNamedIsThere(String name) throws IOException {
        Set<String> gone = named(name);
        gone.removeIf(word -> !HUMPS.matcher(word).find());
        for (String each : List.of("channel", "host", "verbs")) {
            gone.removeAll(classes(each));
        }
        assertEquals(Set.of(), gone, "names in the " + MAP + " of " + name + " that are no classes any more");
    }

    private static Set<String> classes(String name) throws IOException {
        try (Stream<Path> files = Files.list(SOURCES.resolve(name))) {
            return files.map(file -> file.getFileName().toString())
                    .filter(file -> file.endsWith(".java") && !file.equals(MAP))
                    .map(file -> file.substring(0, file.indexOf('.'))).collect(Collectors.toCollection(TreeSet::new));
        }
    }

    private static Set<String> named(String name) throws IOException {
        String map = Files.readString(SOURCES.resolve(name).resolve(MAP));
        return WORD.matcher(map).results().map(MatchResult::group).collect(Collectors.toCollection(TreeSet::new));
    }
}

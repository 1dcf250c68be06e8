package io.rdmaraw;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Style rules of CONTRIBUTING.md that can be checked automatically, for all modules. */
class SourceStyleTest {
    private static final int MAX_COLUMNS = 120;
    /** Minimum number of files, to detect a check that searches the wrong directories. */
    private static final int MIN_FILES = 500;

    @Test
    void linesAreAtMost120ColumnsLong() throws IOException {
        List<Path> files = sources();
        assertTrue(files.size() >= MIN_FILES, files.size() + " source files below " + Path.of("..").toRealPath());
        List<String> tooLong = new ArrayList<>();
        for (Path file : files) {
            List<String> lines = Files.readAllLines(file);
            for (int i = 0; i < lines.size(); i++) {
                if (lines.get(i).length() > MAX_COLUMNS) {
                    tooLong.add(file + ":" + (i + 1));
                }
            }
        }
        assertEquals(List.of(), tooLong, "lines of more than " + MAX_COLUMNS + " columns");
    }

    private static List<Path> sources() throws IOException {
        List<Path> modules = new ArrayList<>(List.of(Path.of("..", "examples", "frameworks")));
        try (Stream<Path> beside = Files.list(Path.of(".."))) {
            beside.forEach(modules::add);
        }
        List<Path> files = new ArrayList<>();
        for (Path source : modules.stream().map(module -> module.resolve("src")).filter(Files::isDirectory).toList()) {
            try (Stream<Path> all = Files.walk(source)) {
                all.filter(file -> file.toString().endsWith(".java")).forEach(files::add);
            }
        }
        return files;
    }
}

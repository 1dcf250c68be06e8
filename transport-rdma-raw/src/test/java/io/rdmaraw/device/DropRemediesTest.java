package io.rdmaraw.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A remedy refers to a metric only by name. After renaming the metric, the remedy would never be reported. */
class DropRemediesTest {
    private static final Path SOURCES = Path.of("src/main/java");

    /** Tables of metrics are in classes with this name. */
    private static String tables() throws IOException {
        try (Stream<Path> files = Files.walk(SOURCES)) {
            return files.filter(file -> file.toString().endsWith("Statistics.java")).map(file -> {
                try {
                    return Files.readString(file);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }).collect(Collectors.joining());
        }
    }

    @Test
    void everyRemedyBelongsToAMetric() throws IOException {
        String tables = tables();
        assertTrue(DropRemedies.metrics().size() > 20, DropRemedies.metrics().toString());
        assertEquals(List.of(), DropRemedies.metrics().stream()
                .filter(metric -> !tables.contains('"' + metric + '"')).sorted().toList());
    }

    /** Operators must find each name that is logged in the documentation. */
    @Test
    void everyRemedyIsDocumented() throws IOException {
        StringBuilder pages = new StringBuilder();
        try (Stream<Path> files = Files.list(Path.of("../docs/reference"))) {
            for (Path page : files.filter(file -> file.toString().endsWith(".md")).toList()) {
                pages.append(Files.readString(page));
            }
        }
        assertEquals(List.of(), DropRemedies.metrics().stream()
                .filter(metric -> !pages.toString().contains('`' + metric + '`')).sorted().toList());
    }
}

package io.rdmaraw.ffi;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class NativeLibraryTest {
    /** Loads softverbs in a separate JVM and prints the mappings. */
    static final class Loader {
        public static void main(String[] args) throws IOException {
            NativeLibrary.loadBundled("softverbs").findOrThrow("ibv_get_device_list");
            Files.readAllLines(Path.of("/proc/self/maps")).stream().filter(line -> line.contains("libsoftverbs"))
                    .forEach(System.out::println);
        }
    }

    private static String load(String... options) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path")));
        command.addAll(List.of(options));
        command.add(Loader.class.getName());
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes());
        assertEquals(0, process.waitFor(), output);
        return output;
    }

    @Test
    void libraryIsLoadedFromATemporaryFileThatIsDeleted(@TempDir Path directory) throws Exception {
        String maps = load("-Djava.io.tmpdir=" + directory);
        assertTrue(maps.contains(directory + "/libsoftverbs"), maps);
        try (var files = Files.list(directory)) {
            assertEquals(List.of(), files.filter(file -> file.toString().contains("softverbs")).toList());
        }
    }

    /** As with a read-only root file system and no other mount. */
    @Test
    void libraryIsLoadedFromMemoryWithoutADirectory(@TempDir Path directory) throws Exception {
        String maps = load("-Djava.io.tmpdir=" + directory.resolve("missing"));
        assertTrue(maps.contains("/memfd:libsoftverbs"), maps);
    }

    @Test
    void filesInMemoryKeepTheirPathsAndContents() throws IOException {
        byte[] one = {1, 2, 3};
        byte[] two = {4};
        Path first = MemoryFile.create("first", one);
        Path second = MemoryFile.create("second", two);
        assertNotEquals(first, second);
        assertArrayEquals(one, Files.readAllBytes(first));
        assertArrayEquals(two, Files.readAllBytes(second));
    }
}

package io.rdmaraw.tools.devinfo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Compares the device attributes that this project reads with the output of the stock program. */
class IbvDevinfoTest {
    private static final Path SOFTVERBS = Path.of("../transport-rdma-raw-native/target/native/lib");

    @Test
    void theStockProgramSaysTheSame() throws Exception {
        Map<String, String> theirs = stockDevinfo();
        Map<String, Object> ours;
        try (VerbsContext context = VerbsDevices.open("soft:loop")) {
            ours = DeviceDescription.of(context);
        }
        @SuppressWarnings("unchecked")
        Map<String, Object> port = ((List<Map<String, Object>>) ours.get(DeviceDescription.PORTS)).getFirst();
        int compared = 0;
        for (Map.Entry<String, String> line : theirs.entrySet()) {
            Object value = ours.containsKey(line.getKey()) ? ours.get(line.getKey()) : port.get(line.getKey());
            if (value != null && !line.getKey().equals("hca_id")) {
                assertEquals(number(line.getValue()), number(text(value)), line.getKey());
                compared++;
            }
        }
        assertTrue(compared > 50, "only " + compared + " lines have a value to compare with: " + theirs);
    }

    private static String text(Object value) {
        return value instanceof Map<?, ?> mask && mask.containsKey("mask") ? mask.get("mask").toString()
                : value.toString();
    }

    /**
     * Normalizes a value: the programs print masks and counters in different widths, and codes before or after their
     * names.
     */
    private static String number(String text) {
        String value = text.strip().toLowerCase(java.util.Locale.ROOT).replaceFirst("^.* \\((\\d+)\\)$", "$1");
        return value.matches("0x[0-9a-f]+") ? Long.toUnsignedString(Long.parseUnsignedLong(value.substring(2), 16))
                : value;
    }

    /** Returns the attributes from lines such as "max_qp:  131072". */
    private static Map<String, String> stockDevinfo() throws IOException, InterruptedException {
        assumeTrue(Files.exists(SOFTVERBS), "softverbs is not built in " + SOFTVERBS);
        ProcessBuilder builder = new ProcessBuilder("ibv_devinfo", "-v", "-d", "loop").redirectErrorStream(true);
        builder.environment().put("LD_LIBRARY_PATH", SOFTVERBS.toAbsolutePath().normalize().toString());
        Process process;
        try {
            process = builder.start();
        } catch (IOException e) {
            assumeTrue(false, "needs ibv_devinfo: apt-get install ibverbs-utils");
            throw e;
        }
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), output);
        Map<String, String> values = new TreeMap<>();
        output.lines().map(line -> line.split(":\\s+", 2)).filter(parts -> parts.length == 2)
                .forEach(parts -> values.put(parts[0].strip(), parts[1].strip()));
        return values;
    }
}

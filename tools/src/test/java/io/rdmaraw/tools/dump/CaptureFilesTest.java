package io.rdmaraw.tools.dump;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tools.frame.FrameTemplate;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CaptureFilesTest {
    private static final int SNAP_BYTES = 262_144;
    private static final int STATISTICS_BYTES = 52;
    private static final long TIME = 1_700_000_000_123_456_789L;

    @TempDir
    private Path directory;

    private static CaptureReply.Frame frame(boolean sent, long timeNanos, String template, int length, int captured) {
        byte[] bytes = FrameTemplate.parse(template).build(length);
        return new CaptureReply.Frame(0, sent, timeNanos, "", "", Arrays.copyOf(bytes, captured), length);
    }

    private static List<String> fields(Path file, String... fields) throws Exception {
        String[] command = Stream.concat(Stream.of("tshark", "-r", file.toString(), "-T", "fields"),
                Stream.of(fields).flatMap(field -> Stream.of("-e", field))).toArray(String[]::new);
        return Programs.lines(command);
    }

    @Test
    void tsharkReadsFramesAndInterfaces() throws Exception {
        Path file = directory.resolve("frames.pcapng");
        try (CaptureFiles files = new CaptureFiles(file.toString(), SNAP_BYTES, "udp", 0, 0)) {
            files.add(new CaptureReply.Point("soft:xdp:eth1", 1, "loop-1"));
            files.write(0, frame(false, TIME, "eth/ipv4/udp(src=5,dst=6)", 77, 77));
            files.add(new CaptureReply.Point("soft:xdp:eth2", 2, "löop-2"));
            files.write(1, frame(true, TIME + 1, "eth/ipv4/udp(src=7,dst=8)", 1000, 61));
            files.count(0, 12, 3);
            files.count(1, 1, 0);
        }
        assertEquals(List.of("soft:xdp:eth1\tloop loop-1, port 1\t0x00000001\t1700000000.123456789\t77\t77\t5",
                "soft:xdp:eth2\tloop löop-2, port 2\t0x00000002\t1700000000.123456790\t1000\t61\t7"),
                fields(file, "frame.interface_name", "frame.interface_description", "frame.packet_flags",
                        "frame.time_epoch", "frame.len", "frame.cap_len", "udp.srcport"));
    }

    @Test
    void tsharkReadsReasonsAndChannels() throws Exception {
        Path file = directory.resolve("comments.pcapng");
        byte[] bytes = FrameTemplate.parse("eth/ipv4/udp(src=5,dst=6)").build(77);
        try (CaptureFiles files = new CaptureFiles(file.toString(), SNAP_BYTES, "", 0, 0)) {
            files.add(new CaptureReply.Point("soft:xdp:eth1", 1, "löop-1"));
            files.write(0, new CaptureReply.Frame(0, false, TIME, "not-read", "", bytes, 77));
            files.write(0, new CaptureReply.Frame(0, true, TIME, "", "1a2b3c4d", bytes, 77));
            files.write(0, new CaptureReply.Frame(0, false, TIME, "duplicate", "1a2b3c4d", bytes, 77));
            files.write(0, new CaptureReply.Frame(0, false, TIME, "", "", bytes, 77));
        }
        assertEquals(List.of("dropped: not-read\t5", "channel 1a2b3c4d, loop löop-1\t5",
                "dropped: duplicate,channel 1a2b3c4d, loop löop-1\t5", "\t5"),
                fields(file, "frame.comment", "udp.srcport"));
    }

    @Test
    void filterAndCountersAreThoseOfTheInterface() throws Exception {
        Path file = directory.resolve("counters.pcapng");
        try (CaptureFiles files = new CaptureFiles(file.toString(), SNAP_BYTES, "udp port 5", 0, 0)) {
            files.add(new CaptureReply.Point("soft:xdp:eth1", 1, "loop-1"));
            files.write(0, frame(false, TIME, "eth/ipv4/udp(src=5,dst=6)", 77, 77));
            files.count(0, 12, 3);
        }
        List<String> lines = Programs.lines("capinfos", file.toString());
        assertTrue(lines.stream().anyMatch(line -> line.strip().equals("Filter string = udp port 5")),
                String.join("\n", lines));
        // capinfos prints no counters of interfaces; the fields are where the format has them.
        byte[] bytes = Files.readAllBytes(file);
        String statistics = HexFormat.of().formatHex(bytes, bytes.length - STATISTICS_BYTES, bytes.length);
        assertTrue(statistics.startsWith("0500000034000000") && statistics.endsWith("04000800" + "0c00000000000000"
                + "05000800" + "0300000000000000" + "00000000" + "34000000"), statistics);
    }

    @Test
    void filesHaveTheNamesOfTcpdump() {
        assertEquals("f", CaptureFiles.fileName("f", 0, 0));
        assertEquals("f1", CaptureFiles.fileName("f", 1, 0));
        assertEquals("f12", CaptureFiles.fileName("f", 12, 0));
        assertEquals("f0", CaptureFiles.fileName("f", 0, 10));
        assertEquals("f9", CaptureFiles.fileName("f", 9, 10));
        assertEquals("f00", CaptureFiles.fileName("f", 0, 11));
        assertEquals("f", CaptureFiles.fileName("f", 0, 1));
    }

    @Test
    void oldestFileIsOverwritten() throws Exception {
        Path file = directory.resolve("ring");
        int frames = 100;
        try (CaptureFiles files = new CaptureFiles(file.toString(), SNAP_BYTES, "", 10_000, 3)) {
            files.add(new CaptureReply.Point("soft:loop", 1, "loop-1"));
            for (int i = 0; i < frames; i++) {
                files.write(0, frame(true, TIME + i, "eth/ipv4/udp(src=" + i + ")", 1000, 1000));
            }
        }
        Set<String> ports = new TreeSet<>();
        for (int i = 0; i < 3; i++) {
            Path each = directory.resolve("ring" + i);
            assertTrue(Files.size(each) < 11_500, Files.size(each) + " bytes");
            List<String> read = fields(each, "udp.srcport");
            assertFalse(read.isEmpty());
            ports.addAll(read);
        }
        assertFalse(Files.exists(directory.resolve("ring3")));
        Set<String> expected = new TreeSet<>();
        for (int i = frames - ports.size(); i < frames; i++) {
            expected.add(Integer.toString(i));
        }
        assertEquals(expected, ports);
    }
}

package io.rdmaraw.tools.pcap;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.pcap.PcapFormat;
import io.rdmaraw.pcap.PcapWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PcapTest {
    private static final byte[] FRAME = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 8, 0, 42};

    @Test
    void readsItsOwnFiles() throws IOException {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        try (PcapWriter writer = PcapWriter.create(file, PcapFormat.LINKTYPE_ETHERNET)) {
            writer.write(1_700_000_000_123_456_789L, FRAME, 0, FRAME.length);
            writer.write(7, FRAME, 1, 14);
        }
        try (PcapReader reader = open(file.toByteArray())) {
            PcapFrame first = reader.next();
            assertEquals(1_700_000_000_123_456_789L, first.timestampNanos());
            assertArrayEquals(FRAME, first.bytes());
            assertFalse(first.isTruncated());
            PcapFrame second = reader.next();
            assertEquals(7, second.timestampNanos());
            assertEquals(14, second.bytes().length);
            assertEquals(2, second.bytes()[0]);
            assertNull(reader.next());
        }
    }

    @Test
    void readsEitherByteOrderAndBothPrecisions() throws IOException {
        for (ByteOrder order : new ByteOrder[] {ByteOrder.BIG_ENDIAN, ByteOrder.LITTLE_ENDIAN}) {
            assertEquals(5_000_006_000L, open(file(order, 0xa1b2c3d4, 1, 15, 15)).next().timestampNanos());
            assertEquals(5_000_000_006L, open(file(order, 0xa1b23c4d, 1, 15, 15)).next().timestampNanos());
        }
    }

    @Test
    void tellsFramesThatTheCaptureCut() throws IOException {
        PcapFrame frame = open(file(ByteOrder.LITTLE_ENDIAN, 0xa1b2c3d4, 1, 15, 1514)).next();
        assertTrue(frame.isTruncated());
        assertEquals(1514, frame.originalLengthBytes());
    }

    @Test
    void ignoresFcsBitsAboveTheLinkType() throws IOException {
        assertEquals(15, open(file(ByteOrder.LITTLE_ENDIAN, 0xa1b2c3d4, 0x14000001, 15, 15)).next().bytes().length);
    }

    @Test
    void refusesOtherLinkTypes() {
        assertFault("link type 113", file(ByteOrder.LITTLE_ENDIAN, 0xa1b2c3d4, 113, 15, 15));
    }

    @Test
    void refusesOtherFiles() {
        assertFault("not a pcap file", "#!/bin/sh and more text here".getBytes());
        assertFault("only 0 bytes", new byte[0]);
        assertFault("editcap -F pcap", new byte[] {0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 0});
        byte[] version3 = file(ByteOrder.BIG_ENDIAN, 0xa1b2c3d4, 1, 15, 15);
        version3[5] = 3;
        assertFault("pcap version 3.4", version3);
    }

    @ParameterizedTest
    @ValueSource(ints = {4, 23, 25, 39, 41, 54})
    void refusesAFileThatEndsTooEarly(int lengthBytes) {
        byte[] whole = file(ByteOrder.LITTLE_ENDIAN, 0xa1b2c3d4, 1, 15, 15);
        byte[] cut = java.util.Arrays.copyOf(whole, lengthBytes);
        assertFault("truncated", cut);
    }

    @Test
    void acceptsAFileThatEndsAfterARecord() throws IOException {
        PcapReader reader = open(java.util.Arrays.copyOf(file(ByteOrder.LITTLE_ENDIAN, 0xa1b2c3d4, 1, 15, 15), 24));
        assertNull(reader.next());
    }

    @Test
    void refusesLengthsThatCannotBe() {
        assertFault("frame 1 claims", file(ByteOrder.LITTLE_ENDIAN, 0xa1b2c3d4, 1, 0x7fffffff, 0x7fffffff));
        assertFault("frame 1 claims", file(ByteOrder.LITTLE_ENDIAN, 0xa1b2c3d4, 1, -1, -1));
        assertFault("frame 1 claims", file(ByteOrder.LITTLE_ENDIAN, 0xa1b2c3d4, 1, 15, 14));
    }

    private static void assertFault(String part, byte[] file) {
        PcapException e = assertThrows(PcapException.class, () -> open(file).next());
        assertTrue(e.getMessage().contains(part), e.getMessage());
        assertTrue(e.getMessage().startsWith("test.pcap "), e.getMessage());
    }

    private static PcapReader open(byte[] file) throws IOException {
        return PcapReader.open(new ByteArrayInputStream(file), "test.pcap");
    }

    private static byte[] file(ByteOrder order, int magic, int linkType, int capturedBytes, int originalBytes) {
        ByteBuffer file = ByteBuffer.allocate(24 + 16 + FRAME.length).order(order);
        file.putInt(magic).putShort((short) 2).putShort((short) 4).putInt(0).putInt(0).putInt(65535).putInt(linkType);
        file.putInt(5).putInt(6).putInt(capturedBytes).putInt(originalBytes).put(FRAME);
        return file.array();
    }
}

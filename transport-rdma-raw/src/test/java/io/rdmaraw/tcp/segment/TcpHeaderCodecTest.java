package io.rdmaraw.tcp.segment;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.TcpOptions;
import java.lang.foreign.Arena;
import java.util.HexFormat;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class TcpHeaderCodecTest {
    private static final int GUARD_BYTES = 16;
    private static final int MAX_OPTIONS_BYTES = 40;
    /** The counters that an option can contain. */
    private static final int[] ACC_ECN_COUNTERS = {0, TcpOptions.ACC_ECN_ECT1,
            TcpOptions.ACC_ECN_ECT1 | TcpOptions.ACC_ECN_CE, 7, TcpOptions.ACC_ECN_ECT0,
            TcpOptions.ACC_ECN_ECT0 | TcpOptions.ACC_ECN_CE};
    /** From the global arena, because an address alone does not keep memory of another arena alive. */
    private final long memory = Arena.global().allocate(4096, 8).address();
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame frame = new ParsedFrame();
    private final TcpHeaderCodec headers = new TcpHeaderCodec();
    private final Segment back = new Segment();

    /** The order and padding of a SYN's options are the same as on Linux. */
    @Test
    void synIsEncodedAsOnLinux() {
        Segment s = new Segment().source(0, 0xFFFF_7F00_0001L, 40962).destination(0, 0xFFFF_7F00_0001L, 9999)
                .seq(0x3ee01eb4).flags(TcpFlags.SYN).window(65495).mss(65495).timestamps(0x9d0d7eb7, 0).windowScale(7);
        s.sackPermitted(true);
        int length = TcpHeaderCodec.write(s, memory, 0);
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = NativeMemory.getByte(memory + i);
        }
        String text = HexFormat.of().formatHex(bytes);
        assertEquals("4500003c000040004006" + "3cba" + "7f0000017f000001", text.substring(0, 40));
        assertEquals("a002270f3ee01eb400000000a002ffd7", text.substring(40, 72));
        assertEquals("0000" + "0204ffd7" + "0402080a9d0d7eb700000000" + "01030307", text.substring(76));
    }

    @Test
    void writtenHeadersAreReadBackWithValidChecksums() {
        SplittableRandom random = new SplittableRandom(5);
        for (int round = 0; round < 20_000; round++) {
            Segment s = randomSegment(random);
            int payload = random.nextInt(3) == 0 ? 0 : random.nextInt(200);
            s.payloadLength = payload;
            int headerBytes = TcpHeaderCodec.headersLengthBytes(s);
            for (int i = 0; i < headerBytes + payload + GUARD_BYTES; i++) {
                NativeMemory.putByte(memory + i, (byte) random.nextInt());
            }
            long guard = NativeMemory.getLong(memory + headerBytes + payload);
            long sum = payload == 0 ? 0 : InternetChecksum.sum(memory + headerBytes, payload);
            assertEquals(headerBytes, TcpHeaderCodec.write(s, memory, sum));
            assertEquals(guard, NativeMemory.getLong(memory + headerBytes + payload), "nothing is written behind");
            assertEquals(ParseVerdict.TCP, parser.parseIp(memory, headerBytes + payload, false, frame), s.toString());
            assertEquals(payload, frame.payloadLengthBytes());
            back.clear();
            headers.read(frame, back);
            s.payloadLength = 0;
            assertEquals(s.toString(), back.toString());
            assertEquals(s.sourceHigh, back.sourceHigh);
            assertEquals(s.sourceLow, back.sourceLow);
            assertEquals(s.destinationHigh, back.destinationHigh);
            assertEquals(s.destinationLow, back.destinationLow);
            assertEquals(s.dscp, back.dscp);
            assertEquals(s.hopLimit, frame.hopLimit());
            assertEquals(s.urgentPointer, back.urgentPointer);
        }
    }

    private static Segment randomSegment(SplittableRandom random) {
        Segment s = new Segment();
        boolean ipv4 = random.nextBoolean();
        s.source(ipv4 ? 0 : 0x2001_0db8_0000_0000L | random.nextInt(1 << 16),
                ipv4 ? 0xFFFF_0A00_0000L + random.nextInt(1 << 24) : random.nextLong(), 1 + random.nextInt(65535));
        s.destination(ipv4 ? 0 : 0xfd00_0000_0000_0000L | random.nextInt(1 << 30),
                ipv4 ? 0xFFFF_C0A8_0000L + random.nextInt(1 << 16) : random.nextLong(), 1 + random.nextInt(65535));
        s.seq(random.nextInt()).ack(random.nextInt()).flags(random.nextInt(512)).window(random.nextInt(1 << 16));
        s.urgentPointer(random.nextInt(4) == 0 ? random.nextInt(1 << 16) : 0).ecn(random.nextInt(4));
        s.dscp(random.nextInt(64));
        s.hopLimit = 1 + random.nextInt(255);
        if (random.nextInt(3) > 0) {
            s.timestamps(random.nextInt(), random.nextInt());
        }
        if (random.nextInt(4) == 0) {
            if (random.nextBoolean()) {
                int length = random.nextInt(3) == 0 ? 0 : 4 + 2 * random.nextInt(7);
                s.fastOpenCookie(length, length >= 8 ? random.nextLong() : length == 0 ? 0
                        : random.nextLong() << 64 - 8 * length, length <= 8 ? 0
                        : random.nextLong() << 128 - 8 * length);
            }
            s.mss(1 + random.nextInt(65535)).windowScale(random.nextInt(15)).sackPermitted(random.nextBoolean());
        } else {
            for (int i = random.nextInt(s.timestamps ? 4 : 5); i > 0; i--) {
                s.addSack(random.nextInt(), random.nextInt());
            }
        }
        int counters = ACC_ECN_COUNTERS[random.nextInt(ACC_ECN_COUNTERS.length)];
        s.accEcn(counters, (counters & TcpOptions.ACC_ECN_ECT1) == 0 ? 0 : random.nextInt(),
                (counters & TcpOptions.ACC_ECN_CE) == 0 ? 0 : random.nextInt(),
                (counters & TcpOptions.ACC_ECN_ECT0) == 0 ? 0 : random.nextInt());
        return s.optionsLengthBytes() <= MAX_OPTIONS_BYTES ? s : s.accEcn(Segment.ABSENT, 0, 0, 0);
    }
}

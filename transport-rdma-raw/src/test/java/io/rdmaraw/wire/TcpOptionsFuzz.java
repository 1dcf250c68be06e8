package io.rdmaraw.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Arbitrary bytes as TCP options. The memory ends with the options, so a read beyond them crashes.
 * {@code ci/fuzz} fuzzes for longer; the normal build replays the stored inputs and some
 * random ones.
 */
class TcpOptionsFuzz {
    private static final int MAXIMUM_BYTES = 40;
    private static final int RANDOM_INPUTS = 200_000;
    private static final GuardedMemory MEMORY = new GuardedMemory();

    private final TcpOptions used = new TcpOptions();

    @FuzzTest
    void anyBytes(byte[] data) {
        check(data);
    }

    @Test
    void bytesAtRandom() {
        SplittableRandom random = new SplittableRandom(7);
        for (int i = 0; i < RANDOM_INPUTS; i++) {
            byte[] data = new byte[random.nextInt(MAXIMUM_BYTES + 1)];
            for (int at = 0; at < data.length; at++) {
                // Kinds and lengths are small numbers. Uniform bytes would nearly always be unknown kinds.
                data[at] = (byte) (random.nextInt(4) == 0 ? random.nextInt() : random.nextInt(12));
                if (random.nextInt(8) == 0) {
                    data[at] = (byte) (random.nextBoolean() ? TcpOptions.KIND_ACC_ECN_0 : TcpOptions.KIND_ACC_ECN_1);
                }
            }
            check(data);
        }
    }

    private void check(byte[] data) {
        if (data.length > MAXIMUM_BYTES) {
            return;
        }
        boolean wellFormed = used.parse(MEMORY.putAtEnd(data), data.length);
        TcpOptions fresh = new TcpOptions();
        assertEquals(wellFormed, fresh.parse(MEMORY.putAtEnd(data), data.length), "the segment before shines through");
        assertEquals(text(fresh), text(used), "the segment before shines through");
        assertInRange(data.length);
        assertEquals(lengthsAddUp(data), wellFormed, "well formed or not");
    }

    private void assertInRange(int lengthBytes) {
        int mss = used.maximumSegmentSize();
        assertTrue(mss == TcpOptions.ABSENT || mss >= 0 && mss <= 0xffff, "MSS " + mss);
        int scale = used.windowScale();
        assertTrue(scale == TcpOptions.ABSENT || scale >= 0 && scale <= 14, "window scale " + scale);
        assertTrue(used.sackBlockCount() >= 0 && 2 + 8 * used.sackBlockCount() <= Math.max(2, lengthBytes),
                used.sackBlockCount() + " SACK blocks in " + lengthBytes + " bytes");
        int cookie = used.fastOpenCookieLengthBytes();
        assertTrue(cookie == TcpOptions.ABSENT || cookie >= 0 && used.fastOpenCookieOffset() + cookie <= lengthBytes,
                "a cookie of " + cookie + " bytes at " + used.fastOpenCookieOffset());
        int counters = used.accEcnCounters();
        assertTrue(counters >= TcpOptions.ABSENT && 2 + 3 * Integer.bitCount(Math.max(0, counters)) <= Math.max(2,
                lengthBytes) && counters < 8, "AccECN counters " + counters + " in " + lengthBytes + " bytes");
        for (int bytes : new int[] {used.accEcnEct1Bytes(), used.accEcnCeBytes(), used.accEcnEct0Bytes()}) {
            assertTrue(bytes >>> 24 == 0, "AccECN counter " + bytes);
        }
    }

    /** Checks the framing of RFC 9293 section 3.1 independently. */
    private static boolean lengthsAddUp(byte[] data) {
        int at = 0;
        while (at < data.length && data[at] != TcpOptions.KIND_END) {
            if (data[at] == TcpOptions.KIND_NOP) {
                at++;
            } else if (at + 1 == data.length || (data[at + 1] & 0xff) < 2) {
                return false;
            } else {
                at += data[at + 1] & 0xff;
            }
        }
        return at <= data.length;
    }

    private static String text(TcpOptions o) {
        StringBuilder text = new StringBuilder().append(o.maximumSegmentSize()).append(' ').append(o.windowScale())
                .append(' ').append(o.isSackPermitted()).append(' ').append(o.hasTimestamps()).append(' ')
                .append(o.timestampValue()).append(' ').append(o.timestampEcho()).append(' ')
                .append(o.fastOpenCookieLengthBytes()).append(' ').append(o.fastOpenCookieOffset()).append(' ')
                .append(o.accEcnCounters()).append(' ').append(o.accEcnEct1Bytes()).append('/')
                .append(o.accEcnCeBytes()).append('/').append(o.accEcnEct0Bytes());
        for (int i = 0; i < o.sackBlockCount(); i++) {
            text.append(' ').append(o.sackStart(i)).append('-').append(o.sackEnd(i));
        }
        return text.toString();
    }
}

package io.rdmaraw.tools.pktgen;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tools.frame.FrameTemplate;
import io.rdmaraw.wire.InternetChecksum;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StreamCounterTest {
    private static StreamCounter of(int... numbers) {
        StreamCounter counter = new StreamCounter();
        for (int number : numbers) {
            counter.add(number);
        }
        return counter;
    }

    private static long[] counts(StreamCounter counter) {
        return new long[] {counter.received(), counter.lost(), counter.reordered(), counter.duplicates()};
    }

    @Test
    void inOrderNothingIsWrong() {
        assertArrayEquals(new long[] {4, 0, 0, 0}, counts(of(7, 8, 9, 10)));
    }

    @Test
    void lossReorderingAndDuplicatesAreDistinguished() {
        assertArrayEquals(new long[] {6, 1, 1, 1}, counts(of(0, 1, 3, 2, 3, 5, 6)));
    }

    @Test
    void numbersGoOnAfterTheirEnd() {
        assertArrayEquals(new long[] {4, 1, 0, 0}, counts(of(-2, -1, 1, 2)));
    }

    @Test
    void gapLongerThanTheHistoryClearsIt() {
        // The counter no longer remembers whether number 1 was received, so it counts as late.
        assertArrayEquals(new long[] {3, 4998, 1, 1}, counts(of(0, 5000, 5000, 1)));
    }

    @Test
    void randomStreamsAddUp() {
        for (long seed = 1; seed <= 20; seed++) {
            Random random = new Random(seed);
            List<Integer> sent = new ArrayList<>();
            long lost = 0;
            long twice = 0;
            for (int number = 0; number < 5000; number++) {
                // The first and last frames are never lost, because the loss of frames next to them could not be
                // detected.
                boolean edge = number < 10 || number >= 4990;
                if (!edge && random.nextInt(20) == 0) {
                    lost++;
                    continue;
                }
                sent.add(number);
                if (!edge && random.nextInt(30) == 0) {
                    sent.add(number);
                    twice++;
                }
            }
            for (int i = 20; i + 20 < sent.size(); i += 10) {
                Collections.shuffle(sent.subList(i, i + 8), random);
            }
            StreamCounter counter = new StreamCounter();
            sent.forEach(counter::add);
            assertEquals(lost, counter.lost(), "seed " + seed);
            assertEquals(twice, counter.duplicates(), "seed " + seed);
            assertTrue(counter.reordered() > 0);
        }
    }

    @Test
    void aProbeLeavesTheChecksumsRight() {
        FrameSet frames = FrameSet.ofTemplates(List.of("eth/ipv4/udp(src=1..3)", "eth/vlan(id=5)/ipv6/tcp"),
                FrameSet.IMIX, true);
        assertEquals(4 * FrameSet.IMIX.length, frames.size());
        for (int i = 0; i < frames.size(); i++) {
            byte[] bytes = frames.next();
            ByteBuf frame = Unpooled.directBuffer().writeBytes(bytes);
            TrafficProbe.write(frame, 0x12345678 + i, 0x9abcdef012L + i);
            assertTrue(TrafficProbe.isIn(frame));
            assertEquals(i % 4, TrafficProbe.stream(frame));
            assertEquals(0x12345678 + i, TrafficProbe.number(frame));
            assertEquals(77, TrafficProbe.latencyNanos(frame, 0x9abcdef012L + i + 77));
            byte[] withoutProbe = FrameTemplate.parse(i % 4 < 3 ? "eth/ipv4/udp(src=" + (i % 4 + 1) + ')'
                    : "eth/vlan(id=5)/ipv6/tcp").build(bytes.length);
            assertEquals(sum(bytes), sum(frame), "number and time must sum to what was there when the checksum was"
                    + " made");
            assertFalse(TrafficProbe.isIn(Unpooled.wrappedBuffer(withoutProbe)));
            frame.release();
        }
    }

    private static int sum(byte[] bytes) {
        return sum(Unpooled.wrappedBuffer(bytes));
    }

    private static int sum(ByteBuf bytes) {
        return InternetChecksum.finish(InternetChecksum.sum(bytes, 0,
                bytes.readableBytes()));
    }
}

package io.rdmaraw.verbs.mlx5;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterTry;
import net.jqwik.api.lifecycle.BeforeTry;

/**
 * Tests a completion queue against a model of the device: plain completions and compressed sessions in any
 * order, over many rounds of the ring, polled in parts.
 */
class CompletionRingTest {
    private static final int SESSION_MAX = 32;

    private Arena arena;

    @BeforeTry
    void allocate() {
        arena = Arena.ofConfined();
    }

    @AfterTry
    void free() {
        arena.close();
    }

    /** The length of a session is 1 for a plain completion. */
    @Property(tries = 2000)
    void everyCompletionIsReadOnceAndInOrder(@ForAll("sessions") List<Integer> sessions, @ForAll boolean wide,
            @ForAll @IntRange(min = 1, max = 64) int pollLimit, @ForAll long seed) {
        Device device = new Device(64, wide ? 128 : 64);
        Random random = new Random(seed);
        List<String> written = new ArrayList<>();
        List<String> read = new ArrayList<>();
        for (int session : sessions) {
            while (device.free() < session) {
                device.poll(pollLimit, read);
                device.poll(1, read);
            }
            device.write(session, random, written);
            device.poll(random.nextInt(pollLimit + 1), read);
        }
        device.poll(Integer.MAX_VALUE, read);
        assertEquals(written, read);
        assertEquals(0, device.queue.next());
    }

    @Property(tries = 200)
    void nothingIsReadOfAnEntryThatTheDeviceHasNotWritten(@ForAll @IntRange(min = 0, max = 300) int completions) {
        Device device = new Device(16, 64);
        List<String> read = new ArrayList<>();
        for (int i = 0; i < completions; i++) {
            assertEquals(0, device.queue.next());
            device.write(1, new Random(i), new ArrayList<>());
            device.poll(1, read);
        }
        assertEquals(completions, read.size());
        assertEquals(0, device.queue.next());
    }

    @Property(tries = 200)
    void unreadCompletionsAreDiscardedByReset(@ForAll("sessions") List<Integer> before,
            @ForAll @IntRange(min = 0, max = 40) int polled) {
        Device device = new Device(64, 64);
        int left = 0;
        for (int session : before) {
            if (device.free() >= session) {
                device.write(session, new Random(1), new ArrayList<>());
                left += session;
            }
        }
        List<String> read = new ArrayList<>();
        device.poll(polled, read);
        assertEquals(left - read.size(), device.queue.discardAll());
        device.released();
        List<String> written = new ArrayList<>();
        read.clear();
        device.write(1, new Random(2), written);
        device.poll(64, read);
        assertEquals(written, read);
    }

    @Property(tries = 500)
    void armingNamesTheQueueTheEventAndTheNextCompletion(@ForAll @IntRange(max = 5) int events,
            @ForAll @IntRange(min = 0, max = 200) int completions) {
        Device device = new Device(16, 64);
        for (int i = 0; i < completions; i++) {
            device.write(1, new Random(i), new ArrayList<>());
            device.poll(1, new ArrayList<>());
        }
        device.queue.arm(events);
        // The format of PRM, "CQ arm doorbell": command 0 requests an event for the next completion, solicited or
        // not.
        int request = (events % 4) << 28 | completions;
        assertEquals(request, NetworkOrder.getInt(device.doorbellRecord + 4));
        assertEquals(completions, NetworkOrder.getInt(device.doorbellRecord));
        assertArrayEquals(new int[] {request, Device.NUMBER}, new int[] {
                NetworkOrder.getInt(device.uarPage + 0x20),
                NetworkOrder.getInt(device.uarPage + 0x24)});
    }

    @Provide
    Arbitrary<List<Integer>> sessions() {
        return Arbitraries.frequencyOf(Tuple.of(3, Arbitraries.just(1)),
                Tuple.of(2, Arbitraries.integers().between(2, SESSION_MAX))).list().ofMaxSize(60);
    }

    /** Writes like the device: the last byte last, and of a compressed session only the title and mini entries. */
    private final class Device {
        static final int NUMBER = 0x1234;
        final long doorbellRecord = arena.allocate(8, 8).address();
        final long uarPage = arena.allocate(4096, 4096).address();
        final Mlx5CompletionQueue queue;
        private final long buffer;
        private final int entries;
        private final int strideBytes;
        private int producer;
        private int wqeCounter = 0xfff0;

        Device(int entries, int strideBytes) {
            this.entries = entries;
            this.strideBytes = strideBytes;
            buffer = arena.allocate((long) entries * strideBytes, 64).address();
            for (int i = 0; i < entries; i++) {
                NativeMemory.putByte(entry(i) + 63, (byte) (15 << 4));
            }
            queue = new Mlx5CompletionQueue(new CompletionRing(NUMBER, buffer, entries, strideBytes, doorbellRecord,
                    uarPage), arena.allocate(Mlx5CompletionQueue.SCRATCH_BYTES, 64).address());
        }

        private long entry(int index) {
            return buffer + (long) (index % entries) * strideBytes + strideBytes - 64;
        }

        int free() {
            return entries - (producer - NetworkOrder.getInt(doorbellRecord) & 0xffffff);
        }

        void released() {
            assertEquals(producer & 0xffffff, NetworkOrder.getInt(doorbellRecord));
        }

        void write(int count, Random random, List<String> written) {
            int flowTag = random.nextInt(1 << 24);
            int[] lengths = random.ints(count, 60, 9000).toArray();
            for (int i = 0; i < count; i++) {
                written.add(text(wqeCounter + i & 0xffff, lengths[i], flowTag));
            }
            long title = entry(producer);
            NativeMemory.fill(title, 63, (byte) 0x5a);
            NetworkOrder.putU16(title + 60, wqeCounter);
            NetworkOrder.putInt(title + 56, flowTag);
            if (count == 1) {
                NetworkOrder.putInt(title + 44, lengths[0]);
            } else {
                NetworkOrder.putInt(title + 44, count);
                writeMinis(lengths);
            }
            int owner = producer / entries & 1;
            NativeMemory.putByte(title + 63, (byte) (2 << 4 | (count == 1 ? 0 : 3) << 2 | owner));
            producer += count;
            wqeCounter += count;
        }

        private void writeMinis(int[] lengths) {
            for (int i = 0; i < lengths.length; i++) {
                long place = entry(producer + (i < 8 ? 1 : i / 8 * 8)) + i % 8 * 8L;
                NetworkOrder.putInt(place, 0x11111111 * i);
                NetworkOrder.putInt(place + 4, lengths[i]);
            }
        }

        void poll(int limit, List<String> read) {
            for (int i = 0; i < limit; i++) {
                long cqe = queue.next();
                if (cqe == 0) {
                    break;
                }
                read.add(text(Cqe.wqeCounter(cqe), Cqe.byteCount(cqe), Cqe.flowTag(cqe)));
            }
            queue.releaseEntries();
        }

        private static String text(int wqeCounter, int lengthBytes, int flowTag) {
            return wqeCounter + ":" + lengthBytes + ":" + flowTag;
        }
    }
}

package io.rdmaraw.verbs.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.verbs.abi.Sge;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.function.IntConsumer;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterTry;
import net.jqwik.api.lifecycle.BeforeTry;

/** Compares the requests in a send ring byte by byte with those of the C compiler. */
class SendRequestTest {
    private static final int MAX_HEADER_BYTES = 128;
    private static final int MAX_CARRIED_BYTES = 240;
    private static final byte FILL = (byte) 0xa5;
    private static final HexFormat HEX = HexFormat.of();

    private final List<Mlx5SendQueue> queues = new ArrayList<>();
    private Arena arena;

    /** The state of the ring before the request, and whether a completion is requested. */
    record Place(int number, int producer, int blocks, boolean signaled) {
    }

    /** Lengths and lkeys of the elements. */
    record Element(int lengthBytes, int lkey) {
    }

    @BeforeTry
    void allocate() {
        arena = Arena.ofConfined();
    }

    @AfterTry
    void free() {
        queues.forEach(Mlx5SendQueue::close);
        queues.clear();
        arena.close();
    }

    @Property(tries = 3000)
    void framesInOnePiece(@ForAll("places") Place place, @ForAll("frameLengths") int lengthBytes,
            @ForAll int lkey, @ForAll long seed) {
        MemorySegment frame = content(lengthBytes, seed);
        Ring ring = new Ring(place);
        int block = ring.queue.put(frame.address(), lengthBytes, lkey);
        ring.finish(block);
        assertEquals(Mlx5Reference.ask(ring.question('S', 0, frame, List.of(new Element(lengthBytes, lkey)),
                frame.address())),
                ring.hex());
    }

    @Property(tries = 3000)
    void framesInSeveralPieces(@ForAll("places") Place place, @ForAll("elements") List<Element> elements,
            @ForAll boolean checksums, @ForAll long seed) {
        MemorySegment frame = content(elements.stream().mapToInt(Element::lengthBytes).sum(), seed);
        Ring ring = new Ring(place);
        int block = ring.queue.putGathered(list(elements, frame.address()), elements.size(), checksums);
        ring.finish(block);
        assertEquals(Mlx5Reference.ask(ring.question('S', checksums ? 1 : 0, frame, elements, frame.address())),
                ring.hex());
    }

    @Property(tries = 3000)
    void framesInSeveralPiecesOfWhichTheRequestHoldsNothing(@ForAll("places") Place place,
            @ForAll("elements") List<Element> elements, @ForAll boolean checksums, @ForAll long seed) {
        MemorySegment frame = content(elements.stream().mapToInt(Element::lengthBytes).sum(), seed);
        Ring ring = new Ring(place, true, 0);
        int block = ring.queue.putGathered(list(elements, frame.address()), elements.size(), checksums);
        ring.finish(block);
        ring.queue.ringDoorbell();
        assertEquals(Mlx5Reference.ask(ring.question('N', checksums ? 1 : 0, frame, elements, frame.address())),
                ring.hex());
    }

    @Property(tries = 3000)
    void severalFramesInOneRequest(@ForAll("places") Place place, @ForAll("frames") List<Element> frames,
            @ForAll boolean checksums, @ForAll long seed) {
        MemorySegment memory = content(frames.stream().mapToInt(Element::lengthBytes).sum(), seed);
        Ring ring = new Ring(place, true, 0);
        long list = list(frames, memory.address());
        for (int i = 0; i < frames.size(); i++) {
            long frame = list + (long) i * Sge.SIZE_BYTES;
            int block = checksums ? ring.queue.putGathered(frame, 1, true)
                    : ring.queue.put(Sge.addr(frame), Sge.length(frame), Sge.lkey(frame));
            assertEquals(place.producer() % place.blocks(), block);
        }
        ring.finish(place.producer() % place.blocks());
        ring.queue.ringDoorbell();
        assertEquals(Mlx5Reference.ask(ring.question('M', checksums ? 1 : 0, memory, frames, memory.address())),
                ring.hex());
        assertEquals(frames.size(), ring.queue.framesAt(place.producer()));
        assertEquals((frames.size() + 5) / 4, ring.queue.blocksAt(place.producer()));
        assertEquals(place.producer() + (frames.size() + 5) / 4, ring.queue.producedBlocks());
    }

    /** The frame is in the request in the ring and in the register, as libmlx5 does for {@code IBV_SEND_INLINE}. */
    @Property(tries = 3000)
    void aSingleShortFrameInItsRequest(@ForAll("places") Place place,
            @ForAll @IntRange(min = 19, max = MAX_CARRIED_BYTES) int bytes, @ForAll int lkey,
            @ForAll boolean checksums, @ForAll long seed) {
        MemorySegment frame = content(bytes, seed);
        Ring ring = new Ring(place, true, 4);
        List<Element> elements = List.of(new Element(bytes, lkey));
        int block = ring.queue.putGathered(list(elements, frame.address()), 1, checksums);
        ring.finish(block);
        ring.queue.ringDoorbell();
        int inlinedBytes = 36 + bytes;
        boolean fits = inlinedBytes <= Wqe.BLOCK_BYTES * Math.min(4, place.blocks() - block);
        int requestBytes = fits ? (inlinedBytes + 63) / 64 * 64 : Wqe.BLOCK_BYTES;
        if (fits) {
            assertEquals(withoutRest(Mlx5Reference.ask(ring.question('I', checksums ? 1 : 0, frame, elements,
                    frame.address())), block, inlinedBytes), withoutRest(ring.hex(), block, inlinedBytes));
        } else {
            assertEquals(Mlx5Reference.ask(ring.question('N', checksums ? 1 : 0, frame, elements, frame.address())),
                    ring.hex());
        }
        assertEquals(-1, NativeMemory.segment(ring.address(block), requestBytes)
                .mismatch(NativeMemory.segment(ring.registers, requestBytes)));
        assertEquals(requestBytes, ring.queue.blocksAt(place.producer()) * Wqe.BLOCK_BYTES);
        assertEquals(place.producer() + requestBytes / Wqe.BLOCK_BYTES & 0xffff,
                NetworkOrder.getInt(ring.doorbellRecord + 4));
    }

    /** Omits the end of the last unit, which is meaningless. */
    private static String withoutRest(String hex, int block, int requestBytes) {
        int end = block * Wqe.BLOCK_BYTES + requestBytes;
        return hex.substring(0, 2 * end) + hex.substring(2 * ((end + 15) / 16 * 16));
    }

    @Property(tries = 3000)
    void tsoFrames(@ForAll("places") Place place, @ForAll("elements") List<Element> elements,
            @ForAll("headerLengths") int headerBytes, @ForAll("segmentSizes") int mssBytes, @ForAll long seed) {
        MemorySegment headers = content(headerBytes, seed);
        MemorySegment payload = content(elements.stream().mapToInt(Element::lengthBytes).sum(), seed + 1);
        Ring ring = new Ring(place);
        int block = ring.queue.putTso(headers.address(), headerBytes, mssBytes, list(elements, payload.address()),
                elements.size());
        ring.finish(block);
        assertEquals(Mlx5Reference.ask(ring.question('T', mssBytes, headers, elements, payload.address())), ring.hex());
    }

    @Property(tries = 200)
    void requestsFollowOneAnotherAndTheDoorbellNamesTheLast(@ForAll("places") Place place,
            @ForAll("lists") List<List<Element>> frames) {
        Ring ring = new Ring(place);
        int expected = place.producer();
        for (List<Element> elements : frames) {
            MemorySegment frame = content(elements.stream().mapToInt(Element::lengthBytes).sum(), 1);
            int block = ring.queue.putGathered(list(elements, frame.address()), elements.size(), false);
            assertEquals(expected % place.blocks(), block);
            long control = ring.address(block);
            assertEquals(expected & 0xffff, NetworkOrder.getInt(control) >>> 8 & 0xffff);
            int units = NetworkOrder.getInt(control + Wqe.CTRL_QPN_DS_OFFSET) & 0x3f;
            expected += (units + 3) / 4;
            ring.queue.ringDoorbell();
            assertEquals(expected & 0xffff, NetworkOrder.getInt(ring.doorbellRecord + 4));
            assertEquals(NativeMemory.getLong(control), NativeMemory.getLong(ring.register()));
            NativeMemory.putLong(ring.register(), 0);
            ring.rings++;
        }
    }

    @Provide
    Arbitrary<Place> places() {
        return Combinators.combine(Arbitraries.integers().between(0, 0xffffff), producers(),
                Arbitraries.of(16, 32, 64), Arbitraries.of(true, false)).as(Place::new);
    }

    /** Some counters are about to exceed the 16 bits that the device counts. */
    private static Arbitrary<Integer> producers() {
        return Arbitraries.frequencyOf(Tuple.of(20, Arbitraries.integers().between(0, 200)),
                Tuple.of(1, Arbitraries.integers().between(65500, 65600)));
    }

    @Provide
    Arbitrary<Integer> frameLengths() {
        return Arbitraries.integers().between(19, 1600);
    }

    @Provide
    Arbitrary<Integer> headerLengths() {
        return Arbitraries.integers().between(14, MAX_HEADER_BYTES);
    }

    @Provide
    Arbitrary<Integer> segmentSizes() {
        return Arbitraries.integers().between(1, 65535);
    }

    @Provide
    Arbitrary<List<Element>> elements() {
        Arbitrary<Element> element = Combinators.combine(Arbitraries.integers().between(0, 200), Arbitraries.integers())
                .as(Element::new);
        return element.list().ofMinSize(1).ofMaxSize(8)
                .filter(list -> list.stream().mapToInt(Element::lengthBytes).sum() > Wqe.ETH_L2_INLINE_BYTES);
    }

    /** As many contiguous frames as a request can hold. */
    @Provide
    Arbitrary<List<Element>> frames() {
        return Combinators.combine(Arbitraries.integers().between(60, 90), Arbitraries.integers()).as(Element::new)
                .list().ofMinSize(1).ofMaxSize(Mlx5SendQueue.MAX_FRAMES_OF_REQUEST);
    }

    @Provide
    Arbitrary<List<List<Element>>> lists() {
        return elements().list().ofMinSize(1).ofMaxSize(40);
    }

    private MemorySegment content(int lengthBytes, long seed) {
        // Eight bytes more, because the first bytes are read as words.
        MemorySegment segment = arena.allocate(lengthBytes + Long.BYTES);
        new Random(seed).ints(lengthBytes).forEach(new IntConsumer() {
            private int index;

            @Override
            public void accept(int value) {
                segment.set(ValueLayout.JAVA_BYTE, index++, (byte) value);
            }
        });
        return segment.asSlice(0, lengthBytes);
    }

    private long list(List<Element> elements, long firstAddress) {
        long list = arena.allocate((long) Sge.SIZE_BYTES * elements.size(), Long.BYTES).address();
        long address = firstAddress;
        for (int i = 0; i < elements.size(); i++) {
            Sge.addr(list + (long) i * Sge.SIZE_BYTES, address);
            Sge.length(list + (long) i * Sge.SIZE_BYTES, elements.get(i).lengthBytes());
            Sge.lkey(list + (long) i * Sge.SIZE_BYTES, elements.get(i).lkey());
            address += elements.get(i).lengthBytes();
        }
        return list;
    }

    /** A ring in plain memory. Its queue has the given state. */
    private final class Ring {
        private static final int HALF_BYTES = 256;
        final Place place;
        final Mlx5SendQueue queue;
        final MemorySegment memory;
        final long doorbellRecord = arena.allocate(8, 8).address();
        final long registers = arena.allocate(2 * HALF_BYTES, 2 * HALF_BYTES).address();
        int rings;

        Ring(Place place) {
            this(place, false, 0);
        }

        Ring(Place place, boolean multiPacket, int maxInlineBlocks) {
            this.place = place;
            memory = arena.allocate((long) place.blocks() * Wqe.BLOCK_BYTES, Wqe.BLOCK_BYTES);
            queue = new Mlx5SendQueue(new QueuePairRings(place.number(), memory.address(), place.blocks(),
                    new ReceiveQueueRing(0, 1, 16, doorbellRecord), doorbellRecord, registers, HALF_BYTES),
                    multiPacket, maxInlineBlocks, place.producer(), BlueFlameUse.SINGLE);
            queues.add(queue);
            memory.fill(FILL);
        }

        long address(int block) {
            return memory.address() + (long) block * Wqe.BLOCK_BYTES;
        }

        /** Returns the half of the register that receives the next doorbell. */
        long register() {
            return registers + (long) (rings & 1) * HALF_BYTES;
        }

        void finish(int block) {
            assertEquals(place.producer() % place.blocks(), block);
            if (place.signaled()) {
                queue.signalLast();
            }
        }

        String hex() {
            return HEX.formatHex(memory.toArray(ValueLayout.JAVA_BYTE));
        }

        String question(char kind, int option, MemorySegment head, List<Element> elements, long firstAddress) {
            StringBuilder question = new StringBuilder().append(kind);
            for (long number : new long[] {place.number(), place.producer() & 0xffff, place.blocks(), option,
                    place.signaled() ? 1 : 0}) {
                question.append(' ').append(number);
            }
            long headBytes = Math.min(head.byteSize(), kind == 'I' ? MAX_CARRIED_BYTES : MAX_HEADER_BYTES);
            question.append(' ').append(HEX.formatHex(head.asSlice(0, headBytes).toArray(ValueLayout.JAVA_BYTE)))
                    .append(' ').append(elements.size());
            long address = firstAddress;
            for (Element element : elements) {
                question.append(' ').append(address).append(' ').append(element.lengthBytes()).append(' ')
                        .append(element.lkey() & 0xffffffffL);
                address += element.lengthBytes();
            }
            return question.toString();
        }
    }
}

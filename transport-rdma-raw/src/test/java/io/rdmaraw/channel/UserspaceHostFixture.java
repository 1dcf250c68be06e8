package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.host.userspace.ControlOutput;
import io.rdmaraw.host.userspace.UserspaceAddress;
import io.rdmaraw.host.userspace.UserspaceHostConfig;
import io.rdmaraw.host.userspace.UserspaceHostEngine;
import io.rdmaraw.host.userspace.UserspaceHostReceiver;
import io.rdmaraw.host.userspace.UserspaceHostStatistics;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.ReassemblyLimits;
import io.rdmaraw.net.SourceFilter;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.FrameChecks;
import io.rdmaraw.wire.FrameOrigin;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.UdpHeader;

import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * A userspace host with neighbours, groups, fragments and ports, fed with frames in virtual time, without a device. It
 * checks that
 * <ul>
 * <li>no exception is thrown and each frame has one verdict,
 * <li>a port receives only complete datagrams addressed to it,
 * <li>the frames that the host sends are valid and bounded in number,
 * <li>no buffer is leaked and the state of the host is bounded.
 * </ul>
 */
final class UserspaceHostFixture {
    private static final long MAC = 0x02_00_00_0f_00_01L;
    private static final long PEER_MAC = 0x02_00_00_0f_00_02L;
    private static final IpAddress[] LOCAL = {IpAddress.parse("10.15.0.1"), IpAddress.parse("fd15::1")};
    private static final IpAddress[] PEER = {IpAddress.parse("10.15.0.2"), IpAddress.parse("fd15::2")};
    private static final int FIRST_PORT = 53;
    private static final int SECOND_PORT = 4433;
    private static final int PEER_PORT = 2000;
    private static final int MTU_BYTES = 1500;
    private static final int MAX_FRAME_BYTES = 14 + MTU_BYTES;
    private static final long TIME_UNIT_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    /** Maximum number of frames sent for one frame or deadline: a reply, an error, reports of all groups. */
    private static final int MAX_SENT_PER_EVENT = 64;

    /** Counters of a run. */
    static final class Outcome {
        long frames;
        long datagrams;
        long reassembled;
        long errors;
        long unclaimed;
        long sent;

        void add(Outcome other) {
            frames += other.frames;
            datagrams += other.datagrams;
            reassembled += other.reassembled;
            errors += other.errors;
            unclaimed += other.unclaimed;
            sent += other.sent;
        }

        @Override
        public String toString() {
            return frames + " frames, " + datagrams + " datagrams, " + reassembled + " of fragments, " + errors
                    + " errors, " + unclaimed + " unclaimed, " + sent + " sent";
        }
    }

    private final Outcome outcome = new Outcome();
    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    private final UserspaceHostStatistics hostStatistics = new UserspaceHostStatistics(() -> null);
    private final IpContext ipContext = new IpContext(Runnable::run, 128, FrameOrigin.LINK);
    private final ParsedFrame parsed = new ParsedFrame();
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final long written = Libc.allocateZeroed(MAX_FRAME_BYTES);
    private final UserspaceHostEngine host;
    private final UserspaceHostReceiver receiver;
    private long nowNanos = -TimeUnit.SECONDS.toNanos(1);
    private int sentInEvent;

    private UserspaceHostFixture(boolean detectDuplicates) {
        host = new UserspaceHostEngine(new UserspaceHostConfig(MAC, List.of(UserspaceAddress.parse("10.15.0.1/24"),
                UserspaceAddress.parse("fd15::1/64")), List.of(), detectDuplicates), "own0", MTU_BYTES, new Output(),
                new Random(1));
        host.start(nowNanos);
        for (String group : new String[] {"239.1.2.3", "ff15::123"}) {
            host.setGroup(this, IpAddress.parse(group), SourceFilter.EVERYTHING, nowNanos);
        }
        receiver = new UserspaceHostReceiver(host, this::find, ipContext, allocator, ReassemblyLimits.DEFAULT,
                hostStatistics);
    }

    /**
     * Plays frames encoded in bytes: for each frame the time since the previous one, its length in two bytes, and its
     * content.
     */
    static Outcome play(byte[] data) {
        UserspaceHostFixture played = new UserspaceHostFixture(data.length > 0 && (data[0] & 1) != 0);
        try {
            int at = 1;
            while (at + 3 <= data.length) {
                played.pass((data[at] & 0xff) * TIME_UNIT_NANOS);
                int lengthBytes = (data[at + 1] & 0xff) << 8 | data[at + 2] & 0xff;
                at += 3;
                int end = Math.min(at + Math.min(lengthBytes, MAX_FRAME_BYTES), data.length);
                played.receive(Arrays.copyOfRange(data, at, end));
                at = end;
            }
            return played.end();
        } finally {
            played.free();
        }
    }

    /** Plays frames of {@link MalformedFrames}. */
    static Outcome playOdd(long seed, int frames) {
        UserspaceHostFixture played = new UserspaceHostFixture((seed & 1) != 0);
        MalformedFrames odd = new MalformedFrames(seed, MAC, PEER_MAC, LOCAL, PEER,
                new int[] {FIRST_PORT, SECOND_PORT, PEER_PORT});
        long frame = Libc.allocateZeroed(2 * MAX_FRAME_BYTES);
        try {
            for (int i = 0; i < frames; i++) {
                played.pass((seed >>> i % Long.SIZE & 7) * TIME_UNIT_NANOS);
                int lengthBytes = odd.write(frame);
                played.receive(NativeMemory.segment(frame, lengthBytes).toArray(ValueLayout.JAVA_BYTE));
            }
            return played.end();
        } finally {
            Libc.free(frame);
            played.free();
        }
    }

    private void pass(long nanos) {
        long end = nowNanos + nanos;
        while (deadlineNanos() != Long.MAX_VALUE && deadlineNanos() - end <= 0) {
            long due = deadlineNanos();
            nowNanos = Math.max(nowNanos, due);
            event(() -> {
                host.poll(nowNanos);
                receiver.poll(nowNanos);
            });
            assertTrue(deadlineNanos() == Long.MAX_VALUE || deadlineNanos() - due > 0
                    || deadlineNanos() - nowNanos > 0, "what was due is done");
        }
        nowNanos = end;
    }

    private long deadlineNanos() {
        return Math.min(host.deadlineNanos(), receiver.deadlineNanos());
    }

    private void event(Runnable event) {
        sentInEvent = 0;
        event.run();
        assertTrue(sentInEvent <= MAX_SENT_PER_EVENT, () -> sentInEvent + " frames for one");
        NetworkSnapshot snapshot = host.snapshotIfChanged();
        if (snapshot != null) {
            assertTrue(snapshot.routes().size() < 200
                    && snapshot.addresses().size() <= 3, "what routers say is bounded");
        }
    }

    private void receive(byte[] bytes) {
        long verdicts = FrameChecks.parsedFrames(ipContext.parseCounters());
        // The memory ends with the frame, so that reads beyond it are detected.
        ByteBuf frame = allocator.directBuffer(Math.max(1, bytes.length)).writeBytes(bytes);
        outcome.frames++;
        event(() -> receiver.receive(frame, false, nowNanos));
        assertEquals(verdicts + 1, FrameChecks.parsedFrames(ipContext.parseCounters()));
        assertEquals(0, frame.refCnt(), "the frame is given back");
    }

    private Outcome end() {
        pass(TimeUnit.MINUTES.toNanos(5));
        receiver.close();
        outcome.unclaimed = hostStatistics.unclaimedFrames;
        assertEquals(0, allocator.metric().usedDirectMemory(), "no buffer is left");
        assertTrue(hostStatistics.fragments().received >= hostStatistics.fragments().dropped);
        return outcome;
    }

    private void free() {
        Libc.free(written);
    }

    private PortOwner find(int protocol, IpAddress source, int sourcePort, IpAddress destination, int port) {
        boolean known = protocol == IpProtocol.UDP && (port == FIRST_PORT
                || port == SECOND_PORT && sourcePort == PEER_PORT);
        return known ? new Port(port) : null;
    }

    /** Checks received datagrams as a channel would. */
    private final class Port implements PortOwner {
        private final int number;

        Port(int number) {
            this.number = number;
        }

        @Override
        public Executor loop() {
            return Runnable::run;
        }

        @Override
        public void receiveUnsteered(ByteBuf frame, boolean checksumVerified) {
            ParseVerdict verdict = parser.parse(BufferAddress.of(frame), frame.readableBytes(), false, parsed);
            assertEquals(ParseVerdict.UDP, verdict);
            assertEquals(number, parsed.destinationPort());
            IpAddress source = IpAddress.sourceOf(parsed);
            assertTrue(!source.isLoopback() && source.version() == parsed.ipVersion(), () -> "from " + source);
            assertEquals(0, FrameChecks.outerVlan(parsed), "of a VLAN");
            assertTrue(parsed.payloadOffset() + parsed.payloadLengthBytes() <= frame.readableBytes());
            outcome.datagrams++;
            frame.release();
        }

        @Override
        public void receiveReassembled(ByteBuf packet, IpAddress source, IpAddress destination) {
            assertEquals(number, packet.getUnsignedShort(2));
            assertEquals(packet.readableBytes(), packet.getUnsignedShort(4));
            assertTrue(packet.readableBytes() >= UdpHeader.LENGTH_BYTES);
            outcome.reassembled++;
            packet.release();
        }

        @Override
        public void onIcmpError(IcmpError error) {
            assertEquals(number, error.sourcePort());
            outcome.errors++;
        }
    }

    /** Frames sent by the host must be valid themselves. */
    private final class Output implements ControlOutput {
        @Override
        public long allocate() {
            return written;
        }

        @Override
        public void send(int lengthBytes) {
            assertTrue(lengthBytes <= MAX_FRAME_BYTES, "a frame of " + lengthBytes + " bytes");
            ParseVerdict verdict = parser.parse(written, lengthBytes, false, parsed);
            assertTrue(verdict.isAccepted(), () -> "the host sends " + verdict);
            sentInEvent++;
            outcome.sent++;
        }
    }
}

package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.Toeplitz;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Dispatches segments that the kernel received: reassembled from fragments, or with extension headers removed. The
 * stacks of the device are searched one after the other for the connection. The lookup starts with the stack that the
 * device's hash would select; that stack also accepts new connections. A segment without a matching rule or connection
 * is dropped here, because the kernel processes it, too. Called on the thread that reads from the kernel.
 */
final class KernelSegments {
    /** Segments can be 64 KiB long and are queued in separate memory until the loops take them. */
    private static final int MAX_QUEUED_BYTES = 1 << 20;
    private final SharedDevice device;
    private final TcpStackStatistics statistics;
    private final AtomicInteger queuedBytes = new AtomicInteger();
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame parsed = new ParsedFrame();
    private final Toeplitz hash;

    KernelSegments(TcpStack stack, TcpStackStatistics statistics) {
        this.statistics = statistics;
        device = stack.deviceQueue().device();
        hash = Toeplitz.standard(device.rssFlows().toeplitzKey());
    }

    /**
     * A segment, the stacks to search, and the stack that answers it if none knows the connection. The lookup is passed
     * from loop to loop.
     */
    private record Lookup(KernelSegments origin, ByteBuf frame, List<TcpStack> stacks, TcpStack fallbackOrNull) {
        void tryFrom(int index) {
            if (index == stacks.size()) {
                if (fallbackOrNull == null) {
                    origin.drop(frame);
                } else {
                    fallbackOrNull.executeOrElse(() -> {
                        origin.subtractQueued(frame);
                        fallbackOrNull.receiveFromKernel(frame);
                    }, () -> origin.drop(frame));
                }
                return;
            }
            TcpStack candidate = stacks.get(index);
            candidate.executeOrElse(() -> {
                int lengthBytes = frame.readableBytes();
                if (candidate.receiveIfKnown(frame)) {
                    origin.queuedBytes.addAndGet(-lengthBytes);
                } else {
                    tryFrom(index + 1);
                }
            }, () -> tryFrom(index + 1));
        }
    }

    /** Dispatches a segment, given as a frame, and takes its reference. */
    synchronized void dispatch(ByteBuf frame) {
        // With kernel-visible rules the kernel also receives complete segments that the device has already delivered.
        dispatch(frame, device.counters().kernelVisibleRules() == 0);
    }

    /** Dispatches a frame that another process has received and verified, and takes its reference. */
    synchronized void dispatchVerified(ByteBuf frame) {
        dispatch(frame, true);
    }

    private void dispatch(ByteBuf frame, boolean mayDispatch) {
        boolean accepted = mayDispatch
                && parser.parse(BufferAddress.of(frame), frame.readableBytes(), true, parsed) == ParseVerdict.TCP;
        if (!accepted || queuedBytes.addAndGet(frame.readableBytes()) > MAX_QUEUED_BYTES) {
            if (accepted) {
                queuedBytes.addAndGet(-frame.readableBytes());
            }
            statistics.droppedKernelSegments.increment();
            frame.release();
            return;
        }
        statistics.kernelSegments.increment();
        List<TcpStack> stacks = DeviceStacks.of(device);
        TcpStack selected = selectedStack();
        // The selected stack may be about to end and thus be missing from the list.
        if (selected != null) {
            stacks = new ArrayList<>(stacks);
            stacks.remove(selected);
            stacks.addFirst(selected);
        }
        new Lookup(this, frame, stacks, selected).tryFrom(0);
    }

    private TcpStack selectedStack() {
        IpAddress source = IpAddress.sourceOf(parsed);
        IpAddress destination = IpAddress.destinationOf(parsed);
        int flow = source.isIpv4()
                ? hash.ipv4(source.ipv4(), destination.ipv4(), parsed.sourcePort(), parsed.destinationPort())
                : hash.ipv6(source.high(), source.low(), destination.high(), destination.low(), parsed.sourcePort(),
                        parsed.destinationPort());
        for (Object owner : device.rssFlows().owners()) {
            TcpStack selected = owner instanceof ListeningPort port
                    ? port.stackFor(destination, parsed.destinationPort(), flow) : null;
            if (selected != null) {
                return selected;
            }
        }
        return null;
    }

    private void subtractQueued(ByteBuf frame) {
        queuedBytes.addAndGet(-frame.readableBytes());
    }

    private void drop(ByteBuf frame) {
        subtractQueued(frame);
        statistics.droppedKernelSegments.increment();
        frame.release();
    }
}

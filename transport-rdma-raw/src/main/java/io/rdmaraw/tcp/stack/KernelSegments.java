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
 * The way of segments that came by the kernel, put together from fragments or freed of extension headers, to the stack
 * of their connection. The stacks of the device are asked one after the other, first the one that the device would have
 * chosen: that is the one to open a connection, too. What is for none of our rules and connections is the kernel's. For
 * the thread that reads from the kernel.
 */
final class KernelSegments {
    /** They are as long as 64 KiB, and wait in memory of their own until loops take them. */
    private static final int MAX_WAITING_BYTES = 1 << 20;
    private final SharedDevice device;
    private final TcpStackStatistics counters;
    private final AtomicInteger waitingBytes = new AtomicInteger();
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame parsed = new ParsedFrame();
    private final Toeplitz hash;

    KernelSegments(TcpStack stack, TcpStackStatistics counters) {
        this.counters = counters;
        device = stack.port().device();
        hash = Toeplitz.standard(device.rssFlows().key());
    }

    /** A segment, the stacks to ask about it, and the one that answers if none has it; passed from loop to loop. */
    private record Search(KernelSegments origin, ByteBuf frame, List<TcpStack> stacks, TcpStack chosenOrNull) {
        void ask(int index) {
            if (index == stacks.size()) {
                if (chosenOrNull == null) {
                    origin.drop(frame);
                } else {
                    chosenOrNull.executeOrElse(() -> {
                        origin.leave(frame);
                        chosenOrNull.receiveByKernel(frame);
                    }, () -> origin.drop(frame));
                }
                return;
            }
            TcpStack asked = stacks.get(index);
            asked.executeOrElse(() -> {
                int lengthBytes = frame.readableBytes();
                if (asked.takeIfKnown(frame)) {
                    origin.waitingBytes.addAndGet(-lengthBytes);
                } else {
                    ask(index + 1);
                }
            }, () -> ask(index + 1));
        }
    }

    /** Takes a segment as a frame, and its reference. */
    synchronized void take(ByteBuf frame) {
        // A device that keeps nothing from the kernel has brought what was whole itself.
        take(frame, device.counters().kernelVisibleRules() == 0);
    }

    /** Takes a frame, and its reference, that another process has received and verified. */
    synchronized void takeWhole(ByteBuf frame) {
        take(frame, true);
    }

    private void take(ByteBuf frame, boolean mayBeWanted) {
        boolean wanted = mayBeWanted
                && parser.parse(BufferAddress.of(frame), frame.readableBytes(), true, parsed) == ParseVerdict.TCP;
        if (!wanted || waitingBytes.addAndGet(frame.readableBytes()) > MAX_WAITING_BYTES) {
            if (wanted) {
                waitingBytes.addAndGet(-frame.readableBytes());
            }
            counters.droppedKernelSegments.increment();
            frame.release();
            return;
        }
        counters.kernelSegments.increment();
        List<TcpStack> stacks = DeviceStacks.of(device);
        TcpStack chosen = chosen();
        // A stack that is about to end is in the list no more.
        if (chosen != null) {
            stacks = new ArrayList<>(stacks);
            stacks.remove(chosen);
            stacks.addFirst(chosen);
        }
        new Search(this, frame, stacks, chosen).ask(0);
    }

    private TcpStack chosen() {
        IpAddress source = IpAddress.sourceOf(parsed);
        IpAddress destination = IpAddress.destinationOf(parsed);
        int flow = source.isIpv4()
                ? hash.ipv4(source.ipv4(), destination.ipv4(), parsed.sourcePort(), parsed.destinationPort())
                : hash.ipv6(source.high(), source.low(), destination.high(), destination.low(), parsed.sourcePort(),
                        parsed.destinationPort());
        for (Object owner : device.rssFlows().owners()) {
            TcpStack chosen = owner instanceof ListeningPort port
                    ? port.chosen(destination, parsed.destinationPort(), flow) : null;
            if (chosen != null) {
                return chosen;
            }
        }
        return null;
    }

    private void leave(ByteBuf frame) {
        waitingBytes.addAndGet(-frame.readableBytes());
    }

    private void drop(ByteBuf frame) {
        leave(frame);
        counters.droppedKernelSegments.increment();
        frame.release();
    }
}

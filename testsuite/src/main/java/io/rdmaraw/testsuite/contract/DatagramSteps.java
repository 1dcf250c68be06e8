package io.rdmaraw.testsuite.contract;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.testsuite.contract.BufferKind.After;
import io.rdmaraw.testsuite.contract.BufferKind.Shape;
import io.rdmaraw.testsuite.contract.WriteSteps.Promised;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;

/** Steps for datagram channels. */
final class DatagramSteps {
    /** The recipient or the type of a written message. */
    enum To { PEER, PORT_ZERO, NOBODY, UNRESOLVED, WITHOUT_RECIPIENT, TEXT }

    private static final int NUMBER_BYTES = 2;
    private static final int WORST_BYTES = 256;

    private DatagramSteps() {
    }

    /** Returns the step that sent a datagram, or reports that the content is changed. */
    static String name(byte[] bytes) {
        if (bytes.length < NUMBER_BYTES) {
            return bytes.length + " bytes";
        }
        // Search for the step: the first two bytes identify it with a high probability, because a program has few
        // steps.
        for (int write = 0; write < WORST_BYTES; write++) {
            if (Arrays.equals(bytes, Content.of(write, bytes.length, false))) {
                return "step " + write + ", " + bytes.length + " bytes";
            }
        }
        return bytes.length + " changed bytes";
    }

    record Send(int from, To to, BufferKind kind, Shape shape, int length, After after, Promised promised,
            boolean flush) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            Endpoint sender = run.end(Program.DATAGRAM + from);
            Endpoint receiver = run.end(Program.DATAGRAM + 1 - from);
            if (sender == null) {
                return;
            }
            Payload payload = new Payload(kind, shape, id, length, sender.channel.alloc());
            Object message = message(payload.message, sender, receiver);
            WriteRecord record = run.record(message, id, length);
            run.atEnd(() -> payload.end(run, id));
            WriteSteps.write(sender.channel, message, record, promised, flush, () -> {
                if (record.result().equals("ok") && to == To.PEER && receiver.channel.isOpen()) {
                    receiver.due.incrementAndGet();
                }
                run.progressed();
                payload.after(after);
            });
        }

        private Object message(ByteBuf content, Endpoint sender, Endpoint receiver) {
            return switch (to) {
                case PEER -> new DatagramPacket(content, new InetSocketAddress(InetAddress.getLoopbackAddress(),
                        receiver.port));
                case PORT_ZERO -> new DatagramPacket(content, new InetSocketAddress(InetAddress.getLoopbackAddress(),
                        0));
                case NOBODY -> new DatagramPacket(content, new InetSocketAddress(InetAddress.getLoopbackAddress(), 1));
                case UNRESOLVED -> new DatagramPacket(content, InetSocketAddress.createUnresolved("nowhere.invalid",
                        receiver.port));
                case WITHOUT_RECIPIENT -> content;
                case TEXT -> {
                    content.release();
                    yield "a text of " + sender.name;
                }
            };
        }

        @Override
        public String source(int id) {
            return "datagrams" + from + (flush ? ".writeAndFlush(to(" : ".write(to(") + to + ", " + kind + '.' + shape
                    + '(' + length + ")), " + promised + ") /* " + id + ", then " + after + " */";
        }
    }

    /** Connects a datagram channel to the other one, or to a port without a receiver. */
    record Connect(int from, boolean toNobody) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            Endpoint sender = run.end(Program.DATAGRAM + from);
            Endpoint receiver = run.end(Program.DATAGRAM + 1 - from);
            if (sender == null || !receiver.channel.isOpen()) {
                return;
            }
            ChannelFuture connected = sender.channel.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(),
                    toNobody ? 1 : receiver.port));
            connected.addListener(done -> run.progressed());
            if (!Nesting.isInside()) {
                run.await(connected);
            }
            run.atEnd(() -> run.observe("step" + id + ".connect", result(connected)));
        }

        @Override
        public String source(int id) {
            return "datagrams" + from + ".connect(" + (toNobody ? "127.0.0.1:1" : "datagrams" + (1 - from)) + ")";
        }
    }

    static String result(ChannelFuture future) {
        return !future.isDone() ? WriteRecord.PENDING : future.isSuccess() ? "ok" : Failures.name(future.cause());
    }
}

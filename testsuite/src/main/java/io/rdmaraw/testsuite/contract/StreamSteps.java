package io.rdmaraw.testsuite.contract;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.DuplexChannel;

import java.util.List;

/** Steps that change the state of a channel. */
final class StreamSteps {
    /** A call without arguments. */
    enum Call { CLOSE, SHUTDOWN_OUTPUT, SHUTDOWN_INPUT, SHUTDOWN, DISCONNECT, READ, AUTO_READ_ON, AUTO_READ_OFF, STATE,
        FIRE_USER_EVENT, CONNECT_AGAIN, BIND_AGAIN }

    private StreamSteps() {
    }

    /** Calls a method of the channel. */
    record Invoke(int end, Call call) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            Endpoint target = run.end(end);
            if (target == null) {
                return;
            }
            Channel channel = target.channel;
            ChannelFuture future = invoke(run, channel, id);
            if (future != null) {
                run.observe("step" + id + "." + call, WriteRecord.PENDING);
                run.calls.add(future);
                future.addListener(done -> {
                    String result = done.isSuccess() ? "ok" : Failures.name(done.cause());
                    run.observe("step" + id + "." + call, result);
                    target.log("(" + call + ")");
                });
            }
        }

        private ChannelFuture invoke(ProgramRun run, Channel channel, int id) {
            DuplexChannel duplex = channel instanceof DuplexChannel stream ? stream : null;
            switch (call) {
                case CLOSE:
                    return channel.close();
                case DISCONNECT:
                    return channel.disconnect();
                case SHUTDOWN_OUTPUT:
                    return duplex == null ? null : duplex.shutdownOutput();
                case SHUTDOWN_INPUT:
                    return duplex == null ? null : duplex.shutdownInput();
                case SHUTDOWN:
                    return duplex == null ? null : duplex.shutdown();
                case CONNECT_AGAIN:
                    return channel.connect(run.end(Program.SERVER).channel.localAddress());
                case BIND_AGAIN:
                    return channel.bind(new java.net.InetSocketAddress("127.0.0.1", 0));
                case READ:
                    channel.read();
                    return null;
                case AUTO_READ_ON, AUTO_READ_OFF:
                    channel.config().setAutoRead(call == Call.AUTO_READ_ON);
                    return null;
                case FIRE_USER_EVENT:
                    channel.pipeline().fireUserEventTriggered("event" + id);
                    return null;
                default:
                    run.observeState(run.end(end), "AtStep" + id);
                    return null;
            }
        }

        @Override
        public String source(int id) {
            return Program.name(end) + '.' + call + "() /* " + id + " */";
        }
    }

    /** Deregisters a channel, performs steps, and registers it again with a loop of its group. */
    record Move(int end, boolean otherLoop, List<Numbered> inner) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            Endpoint target = run.end(end);
            if (target == null || !target.channel.isRegistered() || target.channel.eventLoop().inEventLoop()) {
                return;
            }
            Channel channel = target.channel;
            EventLoopGroup group = otherLoop ? channel.eventLoop().parent() : channel.eventLoop();
            boolean gone = run.await(channel.deregister());
            run.perform(inner);
            if (!gone || channel.isRegistered()) {
                run.observe("step" + id + ".deregister", "pending");
                return;
            }
            ChannelFuture back = group.register(channel);
            run.await(back);
            run.observe("step" + id + ".register", !back.isDone() ? WriteRecord.PENDING : back.isSuccess() ? "ok"
                    : Failures.name(back.cause()));
        }

        @Override
        public String source(int id) {
            return Program.name(end) + ".moveTo(" + (otherLoop ? "nextLoop" : "sameLoop") + ", () ->";
        }

        @Override
        public Step withInner(List<Numbered> steps) {
            return new Move(end, otherLoop, steps);
        }
    }
}

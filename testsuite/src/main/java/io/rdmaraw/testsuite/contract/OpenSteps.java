package io.rdmaraw.testsuite.contract;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/** Steps that open more channels. */
final class OpenSteps {
    /** A way to connect. */
    enum Way { PLAIN, REFUSED, CANCELLED, CLOSED_AT_ONCE, BOUND_TO_ZERO, BOUND_TO_PORT_IN_USE, TWICE, UNRESOLVED,
        WRITE_AT_ONCE }

    /** A way to bind. */
    enum Place { FREE_PORT, PORT_IN_USE, FOREIGN_ADDRESS, BEHIND_REGISTER, CLOSED_AT_ONCE, TWICE }

    private static final InetAddress LOCALHOST = InetAddress.ofLiteral("127.0.0.1");

    private OpenSteps() {
    }

    private static InetSocketAddress local(int port) {
        return new InetSocketAddress(LOCALHOST, port);
    }

    /** Connects another client to the server, or to a port without a listener. */
    record Connect(Way way) implements Step {
        @Override
        public void run(ProgramRun run, int id) throws InterruptedException {
            Endpoint end = new Endpoint(run, "other" + id, 0);
            Channel server = run.end(Program.SERVER).channel;
            if (!server.isOpen() || Nesting.isInside()) {
                return;
            }
            InetSocketAddress remote = way == Way.REFUSED ? local(1) : way == Way.UNRESOLVED
                    ? InetSocketAddress.createUnresolved("nowhere.invalid", 1)
                    : (InetSocketAddress) server.localAddress();
            Bootstrap bootstrap = run.client(end);
            ChannelFuture registered = bootstrap.register();
            Channel channel = registered.channel();
            run.extras.add(channel);
            if (!run.await(registered)) {
                run.observe("step" + id + ".register", WriteRecord.PENDING);
                return;
            }
            if (way == Way.BOUND_TO_ZERO || way == Way.BOUND_TO_PORT_IN_USE) {
                ChannelFuture bound = channel.bind(way == Way.BOUND_TO_ZERO ? local(0) : (InetSocketAddress) server
                        .localAddress());
                run.await(bound);
                run.observe("step" + id + ".bind", DatagramSteps.result(bound));
                run.observe("step" + id + ".boundState", ProgramRun.state(channel));
                run.observe("step" + id + ".boundAddresses", ProgramRun.addresses(channel));
                if (!bound.isSuccess()) {
                    return;
                }
            }
            ChannelFuture connected = channel.connect(remote);
            connected.addListener(done -> end.log("(connect=" + DatagramSteps.result(connected) + ")"));
            if (way == Way.TWICE) {
                ChannelFuture again = channel.connect(remote);
                run.await(again);
                run.observe("step" + id + ".connectAgain", DatagramSteps.result(again));
            } else if (way == Way.CANCELLED) {
                run.observe("step" + id + ".cancel", String.valueOf(connected.cancel(false)));
            } else if (way == Way.CLOSED_AT_ONCE) {
                channel.close();
            } else if (way == Way.WRITE_AT_ONCE) {
                ChannelFuture written = channel.writeAndFlush(channel.alloc().buffer(1).writeByte(1));
                run.await(written);
                run.observe("step" + id + ".written", DatagramSteps.result(written));
            }
            run.await(connected);
            run.observe("step" + id + ".connect", DatagramSteps.result(connected));
            if (way == Way.REFUSED || way == Way.UNRESOLVED) {
                run.await(() -> !ProgramRun.isRegisteredOrOpen(channel));
            } else if (connected.isSuccess()) {
                run.await(() -> end.logged().contains("active"));
            }
            run.atEnd(() -> run.observe("step" + id + ".events", EventLog.normalise(end.logged())));
        }

        @Override
        public String source(int id) {
            return "connect(" + way + ") /* " + id + " */";
        }
    }

    /** Binds another server or datagram channel. */
    record Bind(boolean datagrams, Place place) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            Channel server = run.end(Program.SERVER).channel;
            if (Nesting.isInside() || !server.isOpen()) {
                return;
            }
            Endpoint end = new Endpoint(run, "bound" + id, 0);
            EventLoopGroup group = datagrams ? run.groups.servers() : run.serverGroup();
            ChannelFuture registered = datagrams
                    ? new Bootstrap().group(group).channel(run.groups.transport.datagram()).handler(end).register()
                    : new ServerBootstrap().group(group).channel(run.serverClass()).handler(end)
                            .childHandler(new ChannelInboundHandlerAdapter()).register();
            Channel channel = registered.channel();
            run.extras.add(channel);
            if (place != Place.BEHIND_REGISTER && !run.await(registered)) {
                run.observe("step" + id + ".register", WriteRecord.PENDING);
                return;
            }
            InetSocketAddress address = switch (place) {
                case PORT_IN_USE -> datagrams && run.end(Program.DATAGRAM) != null
                        ? local(run.end(Program.DATAGRAM).port) : (InetSocketAddress) server.localAddress();
                case FOREIGN_ADDRESS -> new InetSocketAddress("192.0.2.1", 0);
                default -> local(0);
            };
            ChannelFuture bound = channel.bind(address);
            if (place == Place.CLOSED_AT_ONCE) {
                channel.close();
            }
            run.await(bound);
            if (place == Place.TWICE) {
                ChannelFuture again = channel.bind(local(0));
                run.await(again);
                run.observe("step" + id + ".bindAgain", DatagramSteps.result(again));
            }
            run.observe("step" + id + ".bind", DatagramSteps.result(bound));
            if (place != Place.CLOSED_AT_ONCE) {
                run.observe("step" + id + ".boundState", ProgramRun.state(channel));
                run.observe("step" + id + ".boundAddresses", ProgramRun.addresses(channel));
            }
            run.atEnd(() -> run.observe("step" + id + ".events", EventLog.normalise(end.logged())));
        }

        @Override
        public String source(int id) {
            return (datagrams ? "bindDatagrams(" : "bindServer(") + place + ") /* " + id + " */";
        }
    }

    /** Connects more clients than the backlog permits to a server that does not read. */
    record Overflow(int backlog, int clients) implements Step {
        @Override
        public void run(ProgramRun run, int id) throws InterruptedException {
            if (Nesting.isInside()) {
                return;
            }
            Endpoint end = new Endpoint(run, "overflow" + id, 0);
            ChannelFuture bound = new ServerBootstrap().group(run.serverGroup()).channel(run.serverClass())
                    .handler(end).childHandler(new ChannelInboundHandlerAdapter())
                    .option(ChannelOption.SO_BACKLOG, backlog).option(ChannelOption.AUTO_READ, false).bind(local(0));
            if (!run.await(bound) || !bound.isSuccess()) {
                run.observe("step" + id + ".overflow", "not bound");
                return;
            }
            run.extras.add(bound.channel());
            List<Endpoint> ends = new ArrayList<>();
            List<ChannelFuture> futures = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                Endpoint client = new Endpoint(run, "client" + i + "of" + id, 0);
                ChannelFuture future = run.client(client).connect(bound.channel().localAddress());
                future.addListener(done -> run.progressed());
                run.extras.add(future.channel());
                ends.add(client);
                futures.add(future);
            }
            run.await(() -> futures.stream().allMatch(ChannelFuture::isDone));
            run.observe("step" + id + ".connectedBeyondBacklog", String.valueOf(futures.stream().filter(
                    ChannelFuture::isSuccess).count() > backlog + 1));
            run.await(() -> false);
            run.observe("step" + id + ".closedByServer", String.valueOf(ends.stream().anyMatch(client -> client
                    .logged().contains("closed"))));
        }

        @Override
        public String source(int id) {
            return "connect " + clients + " clients to a server with backlog " + backlog + " and auto-read off /* " + id
                    + " */";
        }
    }
}

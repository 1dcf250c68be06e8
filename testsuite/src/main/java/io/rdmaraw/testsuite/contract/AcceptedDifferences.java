package io.rdmaraw.testsuite.contract;

import java.util.Arrays;
import java.util.Set;
import java.util.function.Predicate;

/** The documented differences from Netty's transports. Each constant is an entry of docs/reference/differences.md. */
enum AcceptedDifferences {
    DATAGRAM_LENGTH(each -> each.is("received") && each.program().find(DatagramSteps.Send.class).stream()
            .anyMatch(step -> ((DatagramSteps.Send) step).length() > 2048)),
    /** The receive allocators 0, 3 and 4 are adaptive. */
    MESSAGE_IN_PARTS(each -> each.is("forms") && each.oursHas("in parts") && (each.key().startsWith("client")
            || Set.of(0, 3, 4).contains(each.program().get(Choice.RECEIVE)))
            // A handler that closes in its first read has got more.
            || each.is("received") && each.ours().equals(Set.of("all")) && each.program().find(LoopSteps.Hook.class)
                    .stream().anyMatch(step -> ((LoopSteps.Hook) step).event() == Endpoint.On.READ)),
    /** NIO and epoll complete the write of an empty datagram and send nothing. */
    EMPTY_DATAGRAM(each -> (each.is("received") || each.is("events")) && each.key().startsWith("datagrams")
            && sendsEmpty(each.program(), false) || each.is("promise") && sendsEmpty(each.program(), true)),
    CONNECT_THEN_CLOSE(each -> (each.key().equals("accepted") || each.key().equals("server.events"))
            && each.program().find(OpenSteps.Connect.class).stream().map(step -> ((OpenSteps.Connect) step).way())
                    .anyMatch(way -> way == OpenSteps.Way.CLOSED_AT_ONCE || way == OpenSteps.Way.CANCELLED)),
    FAILED_WRITE_IN_READ(each -> each.is("events") && each.rivalsHave("read-unfinished closed")
            && !each.oursHas("read-unfinished")),
    FLUSH_IN_READ(each -> each.is("arrived") && each.oursHas("false")),
    RECEIVED_BUFFER_IS_SHARED(each -> each.is("forms") && each.oursHas("shared")),
    SEND_BUFFER_SIZE(each -> each.is("writability") && writtenBytes(each.program()) > 60_000),
    BACKLOG_IN_ONE_BURST(each -> each.is("connectedBeyondBacklog") && !each.program().is(Choice.KERNEL)),
    WRITE_WHILE_DEREGISTERED(each -> each.program().find(StreamSteps.Move.class).stream()
            .anyMatch(step -> writesTo(((StreamSteps.Move) step).end(), step))),
    INPUT_AFTER_SHUTDOWN(each -> (each.is("events") || each.is("received") && !each.oursHas("changed"))
            && calls(each.program(), StreamSteps.Call.SHUTDOWN_INPUT)),
    RESET_TAKES_TIME(each -> (each.is("events") || each.is("state") || each.is("shutdowns")
            || each.is("promise") && each.oursHas("ok")
            || each.is("received") && !each.oursHas("changed")) && (calls(each.program(), StreamSteps.Call.SHUTDOWN)
            || each.program().is(Choice.HALF_CLOSURE) && calls(each.program(), StreamSteps.Call.CLOSE))),
    SECOND_BIND(each -> each.is("BIND_AGAIN") && each.oursHas("IOException")
            && each.nio().equals(Set.of("AlreadyBoundException"))),
    /** A handler of that event may do anything. */
    WRITE_AFTER_SHUTDOWN_OUTPUT(each -> (each.is("writability") || each.program().find(LoopSteps.Hook.class).stream()
            .anyMatch(step -> ((LoopSteps.Hook) step).event() == Endpoint.On.WRITABILITY))
            && (calls(each.program(), StreamSteps.Call.SHUTDOWN_OUTPUT)
            || calls(each.program(), StreamSteps.Call.SHUTDOWN))),
    DATAGRAMS_WHILE_DEREGISTERED(each -> (each.is("received") || each.is("events"))
            && each.key().startsWith("datagrams") && each.program().find(StreamSteps.Move.class).stream()
                    .anyMatch(step -> ((StreamSteps.Move) step).end() >= Program.DATAGRAM)),
    CALL_ON_ENDED_LOOP(each -> each.program().has(LoopSteps.EndGroup.class)
            && (each.is("failure") && each.rivalsHave("RejectedExecutionException")
            || each.kind().startsWith("step.SHUTDOWN") && each.oursHas(WriteRecord.PENDING))),
    /**
     * A read of NIO and epoll that throws does not find the end of the stream: a write behind it succeeds, and the
     * channel may stay open for ever.
     */
    RECEIVE_HANDLE_CALLS(each -> (each.key().startsWith("accepted") || each.is("promise"))
            && ReceiveAllocators.throwsBeforeRead(each.program().get(Choice.RECEIVE))
            || ReceiveAllocators.isThrowing(each.program().get(Choice.RECEIVE)) && (each.key().endsWith("AtEnd")
            || each.key().equals("server.events") || each.key().startsWith("accepted") && each.is("events")
            && !each.oursHas("!AssertionError") && !each.oursHas("!IllegalStateException"))),
    OPTIONS_OF_CLOSED_CHANNEL(each -> each.is("optionAtEnd") && each.rivalsHave("ChannelException")
            && !each.oursHas("Exception")),
    CLOSE_WITH_UNREAD_BYTES(each -> (each.is("events") || each.is("received") && !each.oursHas("changed"))
            && mayLeaveUnread(each.program())),
    PROMISE_OF_ENDED_LOOP(each -> each.is("promise") && each.nio().equals(Set.of(WriteRecord.PENDING))
            && each.epoll().equals(each.nio()) || each.is("references") && each.ours().equals(Set.of("0"))),
    SERVER_NEEDS_ALL_LOOPS(each -> each.program().steps().stream().anyMatch(outer -> outer.step().inner().stream()
            .anyMatch(inner -> inner.step() instanceof StreamSteps.Move move && move.end() == Program.SERVER)));

    private final Predicate<Difference> shows;

    AcceptedDifferences(Predicate<Difference> shows) {
        this.shows = shows;
    }

    /** Returns whether a channel of the program may be closed while bytes for it are in flight or unread. */
    private static boolean mayLeaveUnread(Program program) {
        return program.is(Choice.PAUSED) || program.is(Choice.ECHO) && calls(program, StreamSteps.Call.CLOSE)
                || calls(program, StreamSteps.Call.AUTO_READ_OFF)
                // A task that blocks the loop leaves bytes unread that arrive during that time.
                || program.has(LoopSteps.AwaitReceived.class) && (calls(program, StreamSteps.Call.CLOSE)
                        || calls(program, StreamSteps.Call.DISCONNECT))
                || program.find(WriteSteps.Region.class).stream()
                        .map(step -> ((WriteSteps.Region) step).kind())
                        .anyMatch(kind -> kind == Regions.Kind.SHORT_FILE || kind == Regions.Kind.FAILS);
    }

    private static int writtenBytes(Program program) {
        return program.find(WriteSteps.Write.class).stream().mapToInt(step -> ((WriteSteps.Write) step).length()).sum()
                + program.find(WriteSteps.Region.class).stream().mapToInt(step -> ((WriteSteps.Region) step).length())
                        .sum()
                + program.find(WriteSteps.Broadcast.class).stream()
                        .mapToInt(step -> ((WriteSteps.Broadcast) step).length()).sum();
    }

    private static boolean sendsEmpty(Program program, boolean whereNoneCanGo) {
        return program.find(DatagramSteps.Send.class).stream().map(step -> (DatagramSteps.Send) step)
                .anyMatch(send -> send.length() == 0 && (!whereNoneCanGo || send.to() == DatagramSteps.To.PORT_ZERO
                        || send.to() == DatagramSteps.To.WITHOUT_RECIPIENT));
    }

    private static boolean calls(Program program, StreamSteps.Call call) {
        return program.find(StreamSteps.Invoke.class).stream()
                .anyMatch(step -> ((StreamSteps.Invoke) step).call() == call);
    }

    private static boolean writesTo(int end, Step step) {
        return step.inner().stream().map(Step.Numbered::step).anyMatch(inner -> writesTo(end, inner)
                || inner instanceof WriteSteps.Write write && write.end() == end
                || inner instanceof WriteSteps.Region region && region.end() == end
                || inner instanceof WriteSteps.Broadcast);
    }

    /** Returns the id of the entry in the document. */
    String id() {
        return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
    }

    static boolean accept(Difference difference) {
        return Arrays.stream(values()).anyMatch(each -> each.shows.test(difference));
    }
}

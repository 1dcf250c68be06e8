package io.rdmaraw.testsuite.contract;

import java.util.Arrays;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The documented differences from Netty's transports. Each constant is an entry of docs/reference/differences.md. */
enum AcceptedDifferences {
    DATAGRAM_LENGTH(each -> each.is("received") && each.program().find(DatagramSteps.Send.class).stream()
            .anyMatch(step -> ((DatagramSteps.Send) step).length() > 2048)),
    /** The receive allocators 0, 3 and 4 are adaptive. */
    MESSAGE_IN_PARTS(each -> each.is("forms") && each.oursHas("in parts") && (each.key().startsWith("client")
            || Set.of(0, 3, 4).contains(each.program().get(Choice.RECEIVE)))
            // A handler that closes in its first read has got more.
            || each.is("received") && each.ours().equals(Set.of("all")) && each.program().find(LoopSteps.Hook.class)
                    .stream().anyMatch(step -> ((LoopSteps.Hook) step).event() == Endpoint.On.READ)
            // A step that waits for a second read of its channel is not reached if there is only one.
            || each.ours().equals(Set.of(Comparison.ABSENT)) && waitsForSecondRead(each.program(), each.step())),
    /** NIO and epoll complete the write of an empty datagram and send nothing. */
    EMPTY_DATAGRAM(each -> (each.is("received") || each.is("events")) && each.key().startsWith("datagrams")
            && sendsEmpty(each.program(), false) || each.is("promise") && sendsEmpty(each.program(), true)),
    CONNECT_THEN_CLOSE(each -> (each.key().equals("accepted") || each.key().equals("server.events"))
            && each.program().find(OpenSteps.Connect.class).stream().map(step -> ((OpenSteps.Connect) step).way())
                    .anyMatch(way -> way == OpenSteps.Way.CLOSED_AT_ONCE || way == OpenSteps.Way.CANCELLED)),
    FAILED_WRITE_IN_READ(each -> each.is("events") && each.rivalsHave("read-unfinished closed")
            && !each.oursHas("read-unfinished")),
    /** A handler that closes a channel and then waits finds the peer open here, and closed on NIO and epoll. */
    FLUSH_IN_READ(each -> each.is("arrived") && (each.oursHas("false") || isRunByOneSide(each)
            && each.ours().equals(Set.of("true")) && closesPeerInRead(each.program(), each.step()))),
    RECEIVED_BUFFER_IS_SHARED(each -> each.is("forms") && each.oursHas("shared")),
    SEND_BUFFER_SIZE(each -> each.is("writability") && writtenBytes(each.program()) > 60_000),
    BACKLOG_IN_ONE_BURST(each -> each.is("connectedBeyondBacklog") && !each.program().is(Choice.KERNEL)),
    WRITE_WHILE_DEREGISTERED(each -> each.program().find(StreamSteps.Move.class).stream()
            .anyMatch(step -> writesTo(((StreamSteps.Move) step).end(), step))),
    INPUT_AFTER_SHUTDOWN(each -> (each.is("events") || each.is("received") && !each.oursHas("changed"))
            && calls(each.program(), StreamSteps.Call.SHUTDOWN_INPUT)),
    RESET_TAKES_TIME(each -> isOfReset(each) && writesToClosed(each.program(), each.end())
            || isOfWrites(each) && writesAtEndOfRun(each.program(), each.end())
            || isLeftOpen(each) && writesToFailingRegion(each.program(), each.end())),
    /** NIO closes the channel. epoll closes it because it reads in spite of the pause when the peer closes. */
    SECOND_CONNECT(each -> (each.is("state") && each.nio().equals(Set.of("")) || each.is("shutdowns")
            || each.key().startsWith("step") && each.nio().equals(Set.of("ClosedChannelException")))
            && callsOf(each.program(), each.end()).contains(StreamSteps.Call.CONNECT_AGAIN)
            && (each.program().is(Choice.PAUSED) || calls(each.program(), StreamSteps.Call.AUTO_READ_OFF))),
    /** SO_LINGER is 0 on clients only. */
    RESET_DROPS_UNSENT(each -> each.program().is(Choice.LINGER) && each.is("received") && !each.oursHas("changed")
            && each.key().startsWith("accepted") && closes(each.program(), each.end() ^ 1)),
    EMPTY_WRITE_AFTER_RESET(each -> writesEmpty(each.program(), each.end())
            && (each.is("promise") && each.oursHas("IOException") && each.nio().equals(Set.of("ok"))
            || (each.is("state") || each.is("shutdowns") || each.is("events")) && each.program().is(
                    Choice.HALF_CLOSURE))),
    /** Without AUTO_CLOSE, a failed write shuts the output down. */
    OUTPUT_AFTER_FAILED_WRITE(each -> each.program().is(Choice.NO_AUTO_CLOSE) && each.key().startsWith("accepted")
            && writesInRead(each.program(), each.end())
            && (each.is("events") && each.rivalsHave("ChannelOutputShutdownEvent")
            && !each.oursHas("ChannelOutputShutdownEvent")
            || each.is("state") && each.oursHas("writable") && !each.rivalsHave("writable")
            || each.is("shutdowns") && each.rivalsHave("outputShutdown") && !each.oursHas("outputShutdown"))),
    WRITE_TO_ENDED_LOOP(each -> (each.is("promise") && each.ours().equals(Set.of("IOException"))
            && each.nio().equals(Set.of("ok")) && each.epoll().equals(each.nio())
            || each.is("progress") && each.ours().equals(Set.of(Comparison.ABSENT)))
            && endsGroupOfPeer(each.program(), each.end())),
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
     * The exception comes in another read, or in none. A read of NIO and epoll that throws before it reads leaves the
     * bytes or the end of the stream unread until there is another event: a write behind it succeeds, an echo does not
     * come, the channel may stay open for ever, and steps on its loop still run. If {@code readComplete} throws after a
     * reset, their loop ends.
     */
    RECEIVE_HANDLE_CALLS(each -> ReceiveAllocators.isThrowing(each.program().get(Choice.RECEIVE))
            && (each.key().startsWith("accepted") && each.is("events") && isEqualWithoutReads(each)
            || each.rivalsEnded() && !each.oursHas("changed") && !each.oursHas("dead")
            || each.rivalsThrew() && (each.key().endsWith("AtEnd") || each.key().equals("server.events")
                    || ReceiveAllocators.throwsBeforeRead(each.program().get(Choice.RECEIVE))
                    && isOfUnreadBytes(each)))),
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
                || failingRegions(program).findAny().isPresent();
    }

    /** Returns the regions that provide less than their length. The channel closes when it has sent that much. */
    private static Stream<WriteSteps.Region> failingRegions(Program program) {
        return program.find(WriteSteps.Region.class).stream().map(step -> (WriteSteps.Region) step)
                .filter(step -> step.kind() == Regions.Kind.SHORT_FILE || step.kind() == Regions.Kind.FAILS);
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

    /** Returns the calls that a program makes on a channel. */
    private static Set<StreamSteps.Call> callsOf(Program program, int end) {
        return program.find(StreamSteps.Invoke.class).stream().map(step -> (StreamSteps.Invoke) step)
                .filter(step -> step.end() == end).map(StreamSteps.Invoke::call).collect(Collectors.toSet());
    }

    private static boolean isOfReset(Difference each) {
        return isOfWrites(each) || each.is("state") || each.is("shutdowns")
                || each.is("received") && !each.oursHas("changed");
    }

    /** Returns whether a difference may come from writes that succeed although the peer reads no more. */
    private static boolean isOfWrites(Difference each) {
        return each.is("events") || each.is("promise") && each.oursHas("ok")
                || each.is("progress") && each.nio().equals(Set.of(Comparison.ABSENT));
    }

    /** Returns whether a channel is open here that NIO and epoll have closed. */
    private static boolean isLeftOpen(Difference each) {
        return each.is("state") && each.oursHas("open") && !each.rivalsHave("open")
                || each.is("shutdowns") && each.rivalsHave("outputShutdown") && !each.oursHas("outputShutdown");
    }

    /** Returns whether one end of a channel's connection stops reading for good and the other one writes. */
    private static boolean writesToClosed(Program program, int end) {
        return end >= 0 && (stopsReading(program, end) && writes(program, end ^ 1)
                || stopsReading(program, end ^ 1) && writes(program, end)
                || closes(program, end ^ 1) && writesAtCompletion(program, end));
    }

    /** The end of a run closes the clients, which completes a read of the accepted channels. */
    private static boolean writesAtEndOfRun(Program program, int end) {
        return end >= 0 && end % 2 == 1 && writesAtCompletion(program, end);
    }

    /** Returns whether a half-closed channel writes to a peer that closes when its region fails. */
    private static boolean writesToFailingRegion(Program program, int end) {
        return end >= 0 && program.is(Choice.HALF_CLOSURE) && writes(program, end)
                && failingRegions(program).anyMatch(region -> region.end() == (end ^ 1));
    }

    private static boolean closes(Program program, int end) {
        Set<StreamSteps.Call> calls = callsOf(program, end);
        return calls.contains(StreamSteps.Call.CLOSE) || calls.contains(StreamSteps.Call.DISCONNECT);
    }

    /** Returns whether a channel writes when a read completes, which is the case at the end of the stream too. */
    private static boolean writesAtCompletion(Program program, int end) {
        return program.find(LoopSteps.Hook.class).stream().map(step -> (LoopSteps.Hook) step)
                .anyMatch(hook -> hook.event() == Endpoint.On.READ_COMPLETE && hook.end() == end
                        && writesTo(end, hook));
    }

    private static boolean stopsReading(Program program, int end) {
        Set<StreamSteps.Call> calls = callsOf(program, end);
        return calls.contains(StreamSteps.Call.SHUTDOWN)
                || program.is(Choice.HALF_CLOSURE) && calls.contains(StreamSteps.Call.CLOSE);
    }

    private static boolean writes(Program program, int end) {
        return end % 2 == 1 && program.is(Choice.ECHO)
                || program.steps().stream().map(Step.Numbered::step)
                        .anyMatch(step -> isWriteTo(end, step) || writesTo(end, step));
    }

    private static boolean writesEmpty(Program program, int end) {
        return program.find(WriteSteps.Write.class).stream().map(step -> (WriteSteps.Write) step)
                .anyMatch(write -> write.end() == end && write.length() == 0);
    }

    /** Returns whether an accepted channel writes within {@code channelRead}. */
    private static boolean writesInRead(Program program, int end) {
        return program.is(Choice.ECHO) || program.find(LoopSteps.Hook.class).stream()
                .map(step -> (LoopSteps.Hook) step)
                .anyMatch(hook -> hook.event() == Endpoint.On.READ && hook.end() == end && writesTo(end, hook));
    }

    /** Returns whether a handler of a read waits for a channel after it has closed that channel's peer. */
    private static boolean closesPeerInRead(Program program, Step wanted) {
        return wanted instanceof LoopSteps.AwaitReceived waits && program.find(LoopSteps.Hook.class).stream()
                .map(step -> (LoopSteps.Hook) step)
                .filter(hook -> hook.event() == Endpoint.On.READ || hook.event() == Endpoint.On.READ_COMPLETE)
                .filter(hook -> contains(hook, wanted)).flatMap(hook -> hook.inner().stream())
                .anyMatch(inner -> inner.step() instanceof StreamSteps.Invoke call && call.end() == (waits.end() ^ 1)
                        && Set.of(StreamSteps.Call.CLOSE, StreamSteps.Call.DISCONNECT).contains(call.call()));
    }

    private static boolean endsGroupOfPeer(Program program, int end) {
        return end >= 0 && program.find(LoopSteps.EndGroup.class).stream()
                .anyMatch(step -> ((LoopSteps.EndGroup) step).ofServers() == (end % 2 == 0));
    }

    /** Returns whether a step is in a hook for a read that another read of the same channel sets. */
    private static boolean waitsForSecondRead(Program program, Step wanted) {
        return wanted != null && program.find(LoopSteps.Hook.class).stream().map(step -> (LoopSteps.Hook) step)
                .filter(AcceptedDifferences::isOfRead)
                .anyMatch(first -> hooksIn(first).anyMatch(second -> isOfRead(second) && second.end() == first.end()
                        && contains(second, wanted)));
    }

    private static boolean isOfRead(LoopSteps.Hook hook) {
        return hook.event() == Endpoint.On.READ;
    }

    private static Stream<LoopSteps.Hook> hooksIn(Step step) {
        return step.inner().stream().map(Step.Numbered::step).flatMap(inner -> Stream.concat(
                inner instanceof LoopSteps.Hook hook ? Stream.of(hook) : Stream.empty(), hooksIn(inner)));
    }

    private static boolean contains(Step outer, Step wanted) {
        return outer.inner().stream().map(Step.Numbered::step).anyMatch(inner -> inner.equals(wanted)
                || contains(inner, wanted));
    }

    /** Returns whether bytes or an end of the stream that a rival has not read may explain a difference. */
    private static boolean isOfUnreadBytes(Difference each) {
        if (each.step() != null && (isRunByOneSide(each) || each.is("broadcast")) || each.is("promise")) {
            return true;
        }
        boolean isShown = each.is("events") || each.is("state") || each.is("shutdowns")
                || each.is("received") && !each.oursHas("changed")
                || each.is("forms") && each.nio().equals(Set.of("")) && each.epoll().equals(each.nio());
        return isShown && each.end() >= 0 && (each.end() % 2 == 1 || each.program().is(Choice.ECHO));
    }

    /** Returns whether a step has run only here, or only on NIO and epoll, because a channel was closed or open. */
    private static boolean isRunByOneSide(Difference difference) {
        Set<String> absent = Set.of(Comparison.ABSENT);
        return difference.ours().equals(absent) != (difference.nio().equals(absent)
                && difference.epoll().equals(absent));
    }

    private static boolean isEqualWithoutReads(Difference difference) {
        Set<String> rivals = Stream.concat(difference.nio().stream(), difference.epoll().stream())
                .map(EventLog::withoutReads).collect(Collectors.toSet());
        return difference.ours().stream().map(EventLog::withoutReads).allMatch(rivals::contains);
    }

    private static boolean writesTo(int end, Step step) {
        return step.inner().stream().map(Step.Numbered::step).anyMatch(inner -> isWriteTo(end, inner)
                || writesTo(end, inner));
    }

    private static boolean isWriteTo(int end, Step step) {
        return step instanceof WriteSteps.Write write && write.end() == end
                || step instanceof WriteSteps.Region region && region.end() == end
                || step instanceof WriteSteps.Broadcast;
    }

    /** Returns the id of the entry in the document. */
    String id() {
        return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
    }

    boolean explains(Difference difference) {
        return shows.test(difference);
    }

    static boolean accept(Difference difference) {
        return Arrays.stream(values()).anyMatch(each -> each.explains(difference));
    }
}

package io.rdmaraw.testsuite.contract;

import io.rdmaraw.testsuite.contract.BufferKind.After;
import io.rdmaraw.testsuite.contract.BufferKind.Shape;
import io.rdmaraw.testsuite.contract.Step.Numbered;
import io.rdmaraw.testsuite.contract.StreamSteps.Call;
import io.rdmaraw.testsuite.contract.WriteSteps.Promised;
import io.rdmaraw.testsuite.sim.SplitMix;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Generates the program of a seed. */
final class ProgramGenerator {
    private static final int MAX_STEPS = 7;
    private static final int MAX_INNER = 3;
    private static final int SMALL_MESSAGES_LIMIT = 600;
    private static final int SMALL_MESSAGES_BYTES = 3000;
    private static final int LARGE_BYTES = 400_000;

    private final SplitMix random;
    private final Map<Choice, Integer> choices = new EnumMap<>(Choice.class);
    private int nextId;

    private ProgramGenerator(long seed) {
        random = new SplitMix(seed);
    }

    static Program generate(long seed) {
        ProgramGenerator generator = new ProgramGenerator(seed);
        generator.choose();
        List<Numbered> steps = generator.steps(1 + generator.random.below(MAX_STEPS), 0);
        if (generator.random.chance(0.15)) {
            generator.addEnding(steps);
        }
        return new Program(seed, generator.choices, steps);
    }

    private void choose() {
        choose(Choice.TOGETHER, 0.4);
        choose(Choice.MORE_CONNECTIONS, 0.3);
        choose(Choice.ECHO, 0.3);
        choose(Choice.HALF_CLOSURE, 0.3);
        choose(Choice.PAUSED, 0.1);
        choose(Choice.RECEIVE, 0.3);
        choose(Choice.WATERMARKS, 0.2);
        choose(Choice.ALLOCATOR, 0.3);
        choose(Choice.NO_AUTO_CLOSE, 0.05);
        choose(Choice.LINGER, 0.05);
        choose(Choice.KERNEL, 0.07);
        choose(Choice.DATAGRAMS, 0.25);
        choose(Choice.CONCURRENT, 0.3);
    }

    private void choose(Choice choice, double probability) {
        if (random.chance(probability)) {
            choices.put(choice, random.between(1, choice.values - 1));
        }
    }

    private int get(Choice choice) {
        return choices.getOrDefault(choice, 0);
    }

    private List<Numbered> steps(int count, int depth) {
        List<Numbered> steps = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int id = nextId++;
            steps.add(new Numbered(id, step(depth)));
        }
        return steps;
    }

    /** Adds steps that end or suspend the loop of a channel: a write, possibly a close, and the end. */
    private void addEnding(List<Numbered> steps) {
        boolean suspends = random.chance(0.4);
        // Netty suspends only a loop without channels. The loop of an accepted channel often has the server, too.
        int end = suspends ? 2 * connection() : writer();
        List<Step> ending = new ArrayList<>();
        ending.add(random.chance(0.7) && !readsSmallMessages() ? writeBeyondWindow(end) : write(end));
        // Between the tasks of another thread, acknowledgements arrive, or the loop closes its channels. A loop of both
        // ends that ends in one task leaves the bytes unread on NIO and epoll.
        boolean inTask = random.chance(0.5) && get(Choice.TOGETHER) == 0;
        if (suspends || inTask || random.chance(0.7)) {
            ending.add(new StreamSteps.Invoke(end, Call.CLOSE));
        }
        ending.add(suspends ? new LoopSteps.Suspend(end)
                : new LoopSteps.EndGroup(end % 2 == 1, random.chance(0.3)));
        List<Numbered> numbered = ending.stream().map(step -> new Numbered(nextId++, step)).toList();
        if (inTask) {
            steps.add(new Numbered(nextId++, new LoopSteps.OnLoop(end, numbered)));
        } else {
            steps.addAll(numbered);
        }
    }

    private Step step(int depth) {
        int kind = random.below(100);
        if (kind < 36) {
            return get(Choice.DATAGRAMS) > 0 && random.chance(0.4) ? datagram() : write();
        } else if (kind < 40) {
            return new WriteSteps.Flush(end());
        } else if (kind < 44) {
            return region();
        } else if (kind < 57) {
            Call[] calls = Call.values();
            return new StreamSteps.Invoke(random.chance(0.9) ? end() : other(), calls[random.below(calls.length)]);
        } else if (kind < 66 || depth == 2) {
            return rare(depth);
        } else if (kind < 72 && depth == 0) {
            return open();
        }
        return container(depth);
    }

    private Step container(int depth) {
        int kind = random.below(100);
        if (kind >= 88 && depth == 0 && random.chance(0.4)) {
            return moveOther();
        }
        List<Numbered> inner = steps(1 + random.below(MAX_INNER), depth + 1);
        if (random.chance(0.3)) {
            // The handler or task blocks before or after its last step.
            Step blocks = random.chance(0.5) ? new LoopSteps.AwaitSent() : new LoopSteps.AwaitReceived(end());
            inner.add(inner.size() - random.below(2), new Numbered(nextId++, blocks));
        }
        if (kind < 40) {
            return new LoopSteps.OnLoop(end(), inner);
        } else if (kind < 80) {
            Endpoint.On[] events = Endpoint.On.values();
            return new LoopSteps.Hook(end(), random.chance(0.5) ? Endpoint.On.READ : events[random.below(
                    events.length)], inner);
        } else if (kind < 88) {
            return new LoopSteps.OnThread(inner);
        }
        return new StreamSteps.Move(random.chance(0.6) ? end() : other(), random.chance(0.5), inner);
    }

    /** Returns a step that moves the server or a datagram channel while clients connect or datagrams arrive. */
    private Step moveOther() {
        int end = other();
        List<Numbered> inner = new ArrayList<>();
        for (int i = random.between(1, MAX_INNER); i > 0; i--) {
            int id = nextId++;
            inner.add(new Numbered(id, end == Program.SERVER ? open() : datagram()));
        }
        return new StreamSteps.Move(end, random.chance(0.5), inner);
    }

    private Step rare(int depth) {
        return switch (random.below(10)) {
            case 0 -> new LoopSteps.Settle();
            case 1 -> new LoopSteps.AwaitReceived(end());
            case 2 -> depth > 0 ? new LoopSteps.Throw(random.chance(0.5)) : new LoopSteps.Settle();
            case 3 -> new LoopSteps.Suspend(end());
            case 4 -> depth > 0 || random.chance(0.5) ? new LoopSteps.AwaitReceived(end())
                    : new LoopSteps.EndGroup(random.chance(0.3), random.chance(0.3));
            case 5 -> depth == 0 && get(Choice.ECHO) == 0
                    ? new LoopSteps.ShareMessage(2 * connection() + 1) : write();
            case 6, 7 -> new WriteSteps.Broadcast(random.chance(0.5) && get(Choice.ECHO) == 0, kind(), length(),
                    random.between(1, 3), after());
            default -> write();
        };
    }

    private Step open() {
        OpenSteps.Way[] ways = OpenSteps.Way.values();
        OpenSteps.Place[] places = OpenSteps.Place.values();
        return switch (random.below(get(Choice.KERNEL) > 0 ? 4 : 20)) {
            case 0 -> new OpenSteps.Overflow(random.between(1, 2), random.between(4, 6));
            case 1, 2, 3, 4, 5, 6, 7 -> new OpenSteps.Bind(random.chance(0.3), places[random.below(places.length)]);
            default -> new OpenSteps.Connect(ways[random.below(ways.length)]);
        };
    }

    private Step datagram() {
        DatagramSteps.To[] others = DatagramSteps.To.values();
        if (random.chance(0.1)) {
            return new DatagramSteps.Connect(random.below(2), random.chance(0.2));
        }
        int bytes = random.chance(0.1) ? random.between(60_000, 70_000) : random.chance(0.1) ? 0
                : (int) random.magnitude(1, 3000);
        return new DatagramSteps.Send(random.below(2), random.chance(0.75) ? DatagramSteps.To.PEER
                : others[random.below(others.length)], kind(), shape(), bytes, after(), promised(),
                random.chance(0.8));
    }

    /** Returns the number of the server or of a datagram channel. */
    private int other() {
        return get(Choice.DATAGRAMS) > 0 ? random.pick(Program.SERVER, Program.DATAGRAM, Program.DATAGRAM + 1)
                : Program.SERVER;
    }

    private int connection() {
        return random.below(1 + get(Choice.MORE_CONNECTIONS));
    }

    /** Returns the number of a client or of the channel that was accepted for it. */
    private int end() {
        return 2 * connection() + (random.chance(0.4) ? 1 : 0);
    }

    /** Returns the number of a channel that may write. A channel that echoes must not write anything else. */
    private int writer() {
        return get(Choice.ECHO) > 0 ? 2 * connection() : end();
    }

    private Step write() {
        return write(writer());
    }

    private Step write(int end) {
        return new WriteSteps.Write(end, kind(), shape(), length(), after(), promised(), random.chance(0.75));
    }

    /** Returns a write of several initial congestion windows: its last bytes wait for acknowledgements of the peer. */
    private Step writeBeyondWindow(int end) {
        return new WriteSteps.Write(end, kind(), shape(), random.between(LARGE_BYTES / 4, LARGE_BYTES), after(),
                promised(), true);
    }

    private Shape shape() {
        Shape[] shapes = Shape.values();
        return random.chance(0.4) ? Shape.WHOLE : shapes[random.below(shapes.length)];
    }

    private Step region() {
        Regions.Kind[] kinds = Regions.Kind.values();
        return new WriteSteps.Region(writer(), kinds[random.below(kinds.length)], 1 + length(), promised(),
                random.chance(0.75));
    }

    private Promised promised() {
        return random.chance(0.7) ? Promised.NORMAL : random.chance(0.5) ? Promised.VOID : Promised.PROGRESSIVE;
    }

    private BufferKind kind() {
        BufferKind[] kinds = BufferKind.values();
        return kinds[random.below(kinds.length)];
    }

    private After after() {
        return After.values()[random.below(3)];
    }

    private int length() {
        int most = readsSmallMessages() ? SMALL_MESSAGES_BYTES : random.chance(0.15) ? LARGE_BYTES : 20_000;
        return random.chance(0.05) ? 0 : (int) random.magnitude(1, most);
    }

    private boolean readsSmallMessages() {
        int receive = get(Choice.RECEIVE);
        return ReceiveAllocators.limit(receive) < SMALL_MESSAGES_LIMIT && receive != 3;
    }
}

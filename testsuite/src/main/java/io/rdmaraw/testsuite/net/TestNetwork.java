package io.rdmaraw.testsuite.net;

import io.rdmaraw.testsuite.sim.Impairment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The namespaces, veth pairs and captures of one test, or of a class with tests that share them.
 * {@link NetworkExtension} passes it to a test and closes it, even after a failure. Used by one thread.
 */
public final class TestNetwork implements AutoCloseable {
    private String testName;
    private final Path captureDirectory;
    private final NetworkNamespace current = NetworkNamespace.current();
    private final List<NetworkNamespace> namespaces = new ArrayList<>();
    private final List<VethPair> pairs = new ArrayList<>();
    private final List<ImpairedPair> impairedPairs = new ArrayList<>();
    private final List<PacketCapture> captures = new ArrayList<>();
    private boolean capturing = true;
    private Offloads offloads = Offloads.AS_MADE;
    private int testsBegun;

    /**
     * Creates an empty network.
     *
     * @param testName         start of the names of capture files
     * @param captureDirectory directory of the capture files
     */
    public TestNetwork(String testName, Path captureDirectory) {
        this.testName = testName;
        this.captureDirectory = captureDirectory;
    }

    /** Returns the namespace of this process. */
    public NetworkNamespace current() {
        return current;
    }

    /** Disables captures for pairs created from now on, for tests that flood. */
    public TestNetwork withoutCapture() {
        capturing = false;
        return this;
    }

    /** Sets the offloads of pairs created from now on. The default is {@link Offloads#AS_MADE}. */
    public TestNetwork offloads(Offloads choice) {
        offloads = choice;
        return this;
    }

    /** Creates a namespace with its loopback interface up. */
    public NetworkNamespace namespace() {
        NetworkNamespace namespace = NetworkNamespace.create(NetworkNames.nextNumber());
        namespaces.add(namespace);
        return namespace;
    }

    /** Creates a pair: our end in the namespace of this process, the peer's end in a new one. */
    public VethPair vethPair() {
        return vethPair(current, namespace());
    }

    /**
     * Creates a pair. The first frames are captured at the peer's end, where a capture sees both directions. At our
     * end, XDP takes frames before a capture could see them.
     */
    public VethPair vethPair(NetworkNamespace ours, NetworkNamespace peer) {
        VethPair pair = VethPair.create(NetworkNames.nextNumber(), ours, peer, offloads);
        pairs.add(pair);
        if (capturing) {
            capture(pair.peer());
        }
        return pair;
    }

    /** Creates two ends with the same impairment in both directions; see {@link #impairedPair}. */
    public ImpairedPair impairedPair(Impairment both, long seed) {
        return impairedPair(current, namespace(), both, both, seed);
    }

    /**
     * Creates two ends with an impaired path between them.
     *
     * @param toPeer impairment from our end to the peer's
     * @param toOurs impairment from the peer's end to ours
     * @param seed   seed of the random decisions, such as which frames are lost
     */
    public ImpairedPair impairedPair(NetworkNamespace ours, NetworkNamespace peer, Impairment toPeer, Impairment toOurs,
            long seed) {
        ImpairedPair pair = ImpairedPair.create(ours, namespace(), peer, toPeer, toOurs, seed);
        impairedPairs.add(pair);
        if (capturing) {
            capture(pair.peer());
        }
        return pair;
    }

    /** Captures the frames of an interface until the test ends. The file is kept if the test fails. */
    public PacketCapture capture(VethEnd end) {
        PacketCapture capture = PacketCapture.start(end,
                captureDirectory.resolve(testName + '-' + end.name() + ".pcap"));
        captures.add(capture);
        return capture;
    }

    /**
     * Starts another test on this network. All captures are restarted, because a capture contains only its first
     * frames, which should be those of the current test.
     *
     * @param testName start of the names of the new capture files
     */
    void beginTest(String testName) {
        this.testName = testName + '-' + ++testsBegun;
        List<PacketCapture> before = List.copyOf(captures);
        captures.clear();
        before.forEach(PacketCapture::close);
        before.forEach(capture -> capture(capture.end()));
    }

    /** Keeps the captures beyond {@link #close()}, and returns their files. */
    public List<Path> keepCaptures() {
        captures.forEach(PacketCapture::keep);
        return captures.stream().map(PacketCapture::file).toList();
    }

    /** Removes everything, even if parts of it fail. */
    @Override
    public void close() {
        List<Runnable> steps = new ArrayList<>();
        captures.forEach(capture -> steps.add(capture::close));
        impairedPairs.forEach(pair -> steps.add(pair::close));
        pairs.forEach(pair -> steps.add(pair::close));
        namespaces.forEach(namespace -> steps.add(namespace::close));
        steps.add(current::close);
        RuntimeException failure = null;
        for (Runnable step : steps) {
            try {
                step.run();
            } catch (RuntimeException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        captures.clear();
        impairedPairs.clear();
        pairs.clear();
        namespaces.clear();
        if (failure != null) {
            throw failure;
        }
    }
}

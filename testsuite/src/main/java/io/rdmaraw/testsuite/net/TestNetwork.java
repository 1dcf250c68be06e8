package io.rdmaraw.testsuite.net;

import io.rdmaraw.testsuite.sim.Impairment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The namespaces, veth pairs and captures of one test, or of a class whose tests share them. {@link NetworkExtension}
 * hands it to a test and closes it, also after a failure. Used by one thread.
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
     * An empty network.
     *
     * @param testName         begins the names of capture files
     * @param captureDirectory where capture files go
     */
    public TestNetwork(String testName, Path captureDirectory) {
        this.testName = testName;
        this.captureDirectory = captureDirectory;
    }

    /** The namespace of this process. */
    public NetworkNamespace current() {
        return current;
    }

    /** From now on pairs are made without a capture, for tests that flood. */
    public TestNetwork withoutCapture() {
        capturing = false;
        return this;
    }

    /** Says how pairs are made from now on; as the kernel makes them unless it is said. */
    public TestNetwork offloads(Offloads choice) {
        offloads = choice;
        return this;
    }

    /** A new namespace, with its loopback interface up. */
    public NetworkNamespace namespace() {
        NetworkNamespace namespace = NetworkNamespace.create(NetworkNames.nextNumber());
        namespaces.add(namespace);
        return namespace;
    }

    /** A new pair: our end in the namespace of this process, the peer's end in a new one. */
    public VethPair vethPair() {
        return vethPair(current, namespace());
    }

    /**
     * A new pair. The first frames that pass the peer's end are captured: there a capture sees what our end sends and
     * is sent, whereas XDP on our end takes frames before a capture there could see them.
     */
    public VethPair vethPair(NetworkNamespace ours, NetworkNamespace peer) {
        VethPair pair = VethPair.create(NetworkNames.nextNumber(), ours, peer, offloads);
        pairs.add(pair);
        if (capturing) {
            capture(pair.peer());
        }
        return pair;
    }

    /** Two ends with a path between them that does the same to both directions; see {@link #impairedPair}. */
    public ImpairedPair impairedPair(Impairment both, long seed) {
        return impairedPair(current, namespace(), both, both, seed);
    }

    /**
     * Two ends with an impaired path between them.
     *
     * @param toPeer what happens to frames from our end to the peer's
     * @param toOurs what happens to frames from the peer's end to ours
     * @param seed   decides which frames are lost, held back, and so on
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

    /** Captures the frames of an interface until the test ends; kept if the test fails. */
    public PacketCapture capture(VethEnd end) {
        PacketCapture capture = PacketCapture.start(end,
                captureDirectory.resolve(testName + '-' + end.name() + ".pcap"));
        captures.add(capture);
        return capture;
    }

    /**
     * Another test begins, which shares this network with those before: interfaces are captured anew, since a capture
     * holds the first frames only, and those should be the test's own.
     *
     * @param testName begins the names of the new capture files
     */
    void beginTest(String testName) {
        this.testName = testName + '-' + ++testsBegun;
        List<PacketCapture> before = List.copyOf(captures);
        captures.clear();
        before.forEach(PacketCapture::close);
        before.forEach(capture -> capture(capture.end()));
    }

    /** Makes {@link #close()} leave the captures. The files are returned. */
    public List<Path> keepCaptures() {
        captures.forEach(PacketCapture::keep);
        return captures.stream().map(PacketCapture::file).toList();
    }

    /** Removes everything, whatever of it fails. */
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

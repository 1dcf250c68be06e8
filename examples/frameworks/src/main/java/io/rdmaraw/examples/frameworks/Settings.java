package io.rdmaraw.examples.frameworks;

import io.rdmaraw.channel.RdmaRawIoHandlerConfig;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The command line options of the servers.
 *
 * @param address      address to listen on
 * @param port         TCP port
 * @param threads      number of event loops
 * @param deviceOrNull device, such as {@code soft:xdp:eth0}; null for the framework's own transport
 */
record Settings(String address, int port, int threads, String deviceOrNull) {
    private static final List<String> NAMES = List.of("--address", "--port", "--threads", "--device");

    /** Parses options of the form {@code --port 80} or {@code --port=80}. */
    static Settings parse(String[] arguments) {
        String[] args = Arrays.stream(arguments).flatMap(argument -> Arrays.stream(argument.split("=", 2)))
                .toArray(String[]::new);
        Map<String, String> values = new HashMap<>(Map.of("--address", "127.0.0.1", "--port", "8080", "--threads",
                "1"));
        for (int i = 0; i < args.length; i += 2) {
            if (!NAMES.contains(args[i]) || i + 1 == args.length) {
                System.err.println("'" + args[i] + "' is no option with a value; the options are --address A, --port P,"
                        + " --threads N and --device D, such as --device soft:xdp:eth0");
                System.exit(2);
            }
            values.put(args[i], args[i + 1]);
        }
        return new Settings(values.get("--address"), Integer.parseInt(values.get("--port")),
                Integer.parseInt(values.get("--threads")), values.get("--device"));
    }

    /** Returns the settings of event loops on the device. */
    RdmaRawIoHandlerConfig config() {
        return RdmaRawIoHandlerConfig.builder().device(deviceOrNull).build();
    }

    /** Prints that a server is listening. */
    void sayListening(String server) {
        System.out.println(server + " is listening on " + address + " port " + port + " by "
                + (deviceOrNull == null ? "its own transport" : "rdma-raw on " + deviceOrNull));
    }
}

package io.rdmaraw.agent;

import io.rdmaraw.channel.RdmaRaw;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;

/** The agent's jar as the build makes it, made of what the tests run with; and commands that run programs with it. */
final class AgentJar {
    private static final String LIBRARY = "META-INF/native/libsoftverbs_linux_x86_64.so";
    private static final String MANIFEST = "Manifest-Version: 1.0\nPremain-Class: io.rdmaraw.agent.Premain\n\n";

    private final Path file;

    AgentJar(Path directory) throws IOException {
        file = directory.resolve("agent.jar");
        try (OutputStream out = Files.newOutputStream(file); JarOutputStream jar = new JarOutputStream(out)) {
            add(jar, "META-INF/MANIFEST.MF", MANIFEST.getBytes());
            addAll(jar, placeOf(Agent.class));
            add(jar, "META-INF/rdmaraw/transport.jar", jarOf(placeOf(RdmaRaw.class)));
            add(jar, "META-INF/rdmaraw/native.jar", jarOf(placeOfLibrary()));
        }
    }

    private static Path placeOf(Class<?> type) {
        try {
            return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Path placeOfLibrary() {
        URL library = RdmaRaw.class.getClassLoader().getResource(LIBRARY);
        String url = library.toString();
        String place = url.startsWith("jar:") ? url.substring("jar:".length(), url.indexOf('!'))
                : url.substring(0, url.length() - LIBRARY.length());
        return Path.of(URI.create(place));
    }

    private static byte[] jarOf(Path place) throws IOException {
        if (Files.isRegularFile(place)) {
            return Files.readAllBytes(place);
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JarOutputStream jar = new JarOutputStream(bytes)) {
            addAll(jar, place);
        }
        return bytes.toByteArray();
    }

    private static void addAll(JarOutputStream jar, Path directory) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(directory)) {
            files = all.filter(Files::isRegularFile).sorted().toList();
        }
        for (Path each : files) {
            String name = directory.relativize(each).toString();
            if (!name.startsWith("META-INF/rdmaraw/")) {
                add(jar, name, Files.readAllBytes(each));
            }
        }
    }

    private static void add(JarOutputStream jar, String name, byte[] content) throws IOException {
        jar.putNextEntry(new JarEntry(name));
        jar.write(content);
        jar.closeEntry();
    }

    /** Returns the option of the JVM that starts the agent. */
    String option(String agentOptions) {
        return "-javaagent:" + file + "=" + agentOptions;
    }

    /** Returns a command that runs a class of a program without anything of this project on its class path. */
    static List<String> java(List<String> jvmOptions, String mainClass, String... arguments) {
        Set<String> ours = new TreeSet<>();
        for (Path place : List.of(placeOf(Agent.class), placeOf(RdmaRaw.class), placeOfLibrary())) {
            ours.add(place.toString());
        }
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        List<String> others = Arrays.stream(classPath.split(File.pathSeparator))
                .filter(entry -> !ours.contains(Path.of(entry).toAbsolutePath().toString())).toList();
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java")
                .toString(), "--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-Dio.netty.leakDetection.level=paranoid"));
        command.addAll(jvmOptions);
        command.addAll(List.of("-cp", String.join(File.pathSeparator, others), mainClass));
        command.addAll(List.of(arguments));
        return command;
    }
}

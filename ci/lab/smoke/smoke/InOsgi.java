package smoke;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;

/**
 * As {@link Smoke}, in a bundle of its own that imports the transport's and Netty's packages. Arguments: the directory
 * of the bundles, that of Smoke's classes, and one for the framework to keep things in.
 */
public final class InOsgi {
    private InOsgi() {
    }

    public static void main(String[] args) {
        try {
            run(args);
            System.exit(0);
        } catch (Throwable e) {
            // The framework's threads would go on.
            e.printStackTrace();
            System.exit(1);
        }
    }

    private static void run(String[] args) throws Exception {
        Map<String, String> settings = new HashMap<>();
        settings.put(Constants.FRAMEWORK_STORAGE, args[2]);
        settings.put(Constants.FRAMEWORK_STORAGE_CLEAN, Constants.FRAMEWORK_STORAGE_CLEAN_ONFIRSTINIT);
        Framework framework = ServiceLoader.load(FrameworkFactory.class).findFirst().orElseThrow()
                .newFramework(settings);
        framework.start();
        List<Bundle> bundles = new ArrayList<>();
        try (Stream<Path> jars = Files.list(Path.of(args[0]))) {
            for (Path jar : jars.sorted().toList()) {
                bundles.add(framework.getBundleContext().installBundle(jar.toUri().toString()));
            }
        }
        Bundle program = framework.getBundleContext().installBundle("smoke",
                program(Path.of(args[1]), Path.of(args[2])));
        for (Bundle bundle : bundles) {
            // Fragments are attached to their host, not started.
            if (bundle.getHeaders().get(Constants.FRAGMENT_HOST) == null) {
                bundle.start();
            }
        }
        program.start();
        System.out.println(framework.getSymbolicName() + " " + framework.getVersion() + ": "
                + bundles.stream().map(Bundle::getSymbolicName).toList());
        program.loadClass(Smoke.class.getName()).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        framework.stop();
        framework.waitForStop(0);
    }

    private static InputStream program(Path classes, Path directory) throws IOException {
        Manifest manifest = new Manifest();
        Map.of("Manifest-Version", "1.0", Constants.BUNDLE_MANIFESTVERSION, "2", Constants.BUNDLE_SYMBOLICNAME, "smoke",
                Constants.IMPORT_PACKAGE, "io.rdmaraw.channel,io.netty.bootstrap,io.netty.buffer,io.netty.channel,"
                        + "io.netty.channel.socket,io.netty.util,io.netty.util.concurrent")
                .forEach((name, value) -> manifest.getMainAttributes().putValue(name, value));
        Path jar = directory.resolve("smoke.jar");
        Files.createDirectories(directory);
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest);
                Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.filter(each -> each.getFileName().toString().startsWith("Smoke")).toList()) {
                out.putNextEntry(new JarEntry(classes.relativize(file).toString()));
                out.write(Files.readAllBytes(file));
            }
        }
        return Files.newInputStream(jar);
    }
}

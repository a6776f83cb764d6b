package deploy

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// object is any Kubernetes object as far as it is checked. Fields have the same meaning in every
// kind that has them.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   meta   `yaml:"metadata"`
	Data       map[string]string
	Spec       struct {
		Replicas    *int        `yaml:"replicas"`
		Selector    yaml.Node   `yaml:"selector"`
		PodSelector selector    `yaml:"podSelector"`
		Template    podTemplate `yaml:"template"`
		JobTemplate struct {
			Spec struct {
				Template podTemplate `yaml:"template"`
			} `yaml:"spec"`
		} `yaml:"jobTemplate"`
		MaxUnavailable *int `yaml:"maxUnavailable"`
		MinReplicas    int  `yaml:"minReplicas"`
		MaxReplicas    int  `yaml:"maxReplicas"`
		ScaleTargetRef struct {
			Kind string `yaml:"kind"`
			Name string `yaml:"name"`
		} `yaml:"scaleTargetRef"`
		Ports []struct {
			TargetPort string `yaml:"targetPort"`
		} `yaml:"ports"`
	} `yaml:"spec"`
}

type meta struct {
	Name      string            `yaml:"name"`
	Namespace string            `yaml:"namespace"`
	Labels    map[string]string `yaml:"labels"`
}

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type podTemplate struct {
	Metadata meta `yaml:"metadata"`
	Spec     pod  `yaml:"spec"`
}

type pod struct {
	ServiceAccountName           string            `yaml:"serviceAccountName"`
	AutomountServiceAccountToken *bool             `yaml:"automountServiceAccountToken"`
	TerminationGrace             int               `yaml:"terminationGracePeriodSeconds"`
	RestartPolicy                string            `yaml:"restartPolicy"`
	NodeSelector                 map[string]string `yaml:"nodeSelector"`
	SecurityContext              struct {
		RunAsNonRoot   bool `yaml:"runAsNonRoot"`
		RunAsUser      int  `yaml:"runAsUser"`
		SeccompProfile struct {
			Type string `yaml:"type"`
		} `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	Spread []struct {
		LabelSelector selector `yaml:"labelSelector"`
	} `yaml:"topologySpreadConstraints"`
	Containers []container `yaml:"containers"`
	Volumes    []struct {
		Name string `yaml:"name"`
	} `yaml:"volumes"`
}

type container struct {
	Name  string   `yaml:"name"`
	Image string   `yaml:"image"`
	Args  []string `yaml:"args"`
	Env   []struct {
		Name string `yaml:"name"`
	} `yaml:"env"`
	EnvFrom []struct {
		ConfigMapRef meta `yaml:"configMapRef"`
		SecretRef    meta `yaml:"secretRef"`
	} `yaml:"envFrom"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	} `yaml:"ports"`
	Liveness  *probe `yaml:"livenessProbe"`
	Readiness *probe `yaml:"readinessProbe"`
	Startup   *probe `yaml:"startupProbe"`
	Lifecycle struct {
		PreStop struct {
			Sleep struct {
				Seconds int `yaml:"seconds"`
			} `yaml:"sleep"`
		} `yaml:"preStop"`
	} `yaml:"lifecycle"`
	Resources struct {
		Requests map[string]string `yaml:"requests"`
		Limits   map[string]string `yaml:"limits"`
	} `yaml:"resources"`
	SecurityContext struct {
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities             struct {
			Drop []string `yaml:"drop"`
		} `yaml:"capabilities"`
	} `yaml:"securityContext"`
	VolumeMounts []struct {
		Name string `yaml:"name"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTPGet struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
	TimeoutSeconds int `yaml:"timeoutSeconds"`
}

// kustomization is a kustomization.yaml as far as it is checked.
type kustomization struct {
	Kind               string   `yaml:"kind"`
	Namespace          string   `yaml:"namespace"`
	Resources          []string `yaml:"resources"`
	Components         []string `yaml:"components"`
	ConfigMapGenerator []struct {
		Name     string   `yaml:"name"`
		Literals []string `yaml:"literals"`
	} `yaml:"configMapGenerator"`
	Patches []struct {
		Patch string `yaml:"patch"`
	} `yaml:"patches"`
}

func checkKubernetes(t *testing.T, p program, served httpFacts) {
	t.Helper()
	used, objects := map[string]bool{}, []object{}
	var files []string
	err := filepath.WalkDir("kubernetes", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == "kustomization.yaml":
			checkKustomization(t, path, used, p)
		case !entry.IsDir():
			files = append(files, path)
			objects = append(objects, objectsOf(t, path, read(t, path))...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !used[file] {
			t.Errorf("%s belongs to no kustomization", file)
		}
	}
	checkObjects(t, "kubernetes", objects, p, served)
	checkRegions(t)
}

func objectsOf(t *testing.T, where string, content []byte) []object {
	t.Helper()
	var objects []object
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if o.APIVersion == "" || o.Kind == "" || o.Metadata.Name == "" {
			t.Errorf("%s: an object without apiVersion, kind or name: %+v", where, o.Metadata)
		}
		objects = append(objects, o)
	}
}

func checkKustomization(t *testing.T, path string, used map[string]bool, p program) {
	t.Helper()
	var k kustomization
	decode(t, path, &k)
	for _, part := range slices.Concat(k.Resources, k.Components) {
		target := filepath.Join(filepath.Dir(path), part)
		used[target] = true
		if !exists(target) || filepath.Ext(target) == "" && !exists(filepath.Join(target, "kustomization.yaml")) {
			t.Errorf("%s: %s is not there", path, part)
		}
	}
	for _, generator := range k.ConfigMapGenerator {
		for _, literal := range generator.Literals {
			name, value, _ := strings.Cut(literal, "=")
			if !p.knows(name) {
				t.Errorf("%s: no command of holdfast reads %s", path, name)
			}
			if name == "HOLDFAST_LISTEN" && !strings.HasPrefix(value, "0.0.0.0:") {
				t.Errorf("%s: in a pod, %s can be reached by nobody", path, value)
			}
		}
	}
}

// checkRegions wants one overlay for each of three regions, each in its place and namespace.
func checkRegions(t *testing.T) {
	t.Helper()
	overlays, err := filepath.Glob("kubernetes/regions/*/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(overlays) != 3 {
		t.Errorf("expected overlays of three regions, got %v", overlays)
	}
	for _, path := range overlays {
		region := filepath.Base(filepath.Dir(path))
		var k kustomization
		decode(t, path, &k)
		if k.Namespace != "holdfast-"+region {
			t.Errorf("%s: namespace %s", path, k.Namespace)
		}
		if len(k.Patches) != 1 || !strings.HasSuffix(strings.TrimSpace(k.Patches[0].Patch), "topology.kubernetes.io/region: "+region) {
			t.Errorf("%s: the pods are not tied to the region", path)
		}
		namespace := filepath.Join(filepath.Dir(path), "namespace.yaml")
		if objects := objectsOf(t, namespace, read(t, namespace)); len(objects) != 1 || objects[0].Metadata.Name != k.Namespace {
			t.Errorf("%s: expected the namespace %s", namespace, k.Namespace)
		}
	}
}

// checkObjects checks objects that are applied together.
func checkObjects(t *testing.T, where string, objects []object, p program, served httpFacts) {
	t.Helper()
	workloads := map[string]object{}
	for _, o := range objects {
		at := where + ": " + o.Kind + " " + o.Metadata.Name
		switch o.Kind {
		case "Deployment":
			workloads[o.Metadata.Name] = o
			var s selector
			if err := o.Spec.Selector.Decode(&s); err != nil || !covers(s.MatchLabels, o.Spec.Template.Metadata.Labels) {
				t.Errorf("%s: the selector %v does not find its own pods %v (%v)", at, s.MatchLabels, o.Spec.Template.Metadata.Labels, err)
			}
			checkPod(t, at, o.Spec.Template, p)
			checkServing(t, at, o.Spec.Template.Spec, p, served)
		case "Job":
			checkPod(t, at, o.Spec.Template, p)
		case "CronJob":
			checkPod(t, at, o.Spec.JobTemplate.Spec.Template, p)
		case "ServiceAccount", "Namespace", "ConfigMap", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler", "NetworkPolicy":
		default:
			t.Errorf("%s: a kind that nothing checks", at)
		}
	}
	for _, o := range objects {
		at := where + ": " + o.Kind + " " + o.Metadata.Name
		switch o.Kind {
		case "Service":
			var labels map[string]string
			if err := o.Spec.Selector.Decode(&labels); err != nil {
				t.Errorf("%s: %v", at, err)
			}
			found := selected(t, at, labels, workloads)
			for _, port := range o.Spec.Ports {
				for _, pods := range found {
					if !slices.Contains(portNames(pods.Spec.Template.Spec.Containers[0]), port.TargetPort) {
						t.Errorf("%s: %s has no port %s", at, pods.Metadata.Name, port.TargetPort)
					}
				}
			}
		case "PodDisruptionBudget":
			var s selector
			if err := o.Spec.Selector.Decode(&s); err != nil {
				t.Errorf("%s: %v", at, err)
			}
			selected(t, at, s.MatchLabels, workloads)
			if o.Spec.MaxUnavailable == nil || *o.Spec.MaxUnavailable != 1 {
				t.Errorf("%s: expected maxUnavailable 1", at)
			}
		case "NetworkPolicy":
			selected(t, at, o.Spec.PodSelector.MatchLabels, workloads)
		case "HorizontalPodAutoscaler":
			target, ok := workloads[o.Spec.ScaleTargetRef.Name]
			switch {
			case !ok || o.Spec.ScaleTargetRef.Kind != "Deployment":
				t.Errorf("%s: scales %s, which is no Deployment here", at, o.Spec.ScaleTargetRef.Name)
			case target.Spec.Replicas != nil:
				t.Errorf("%s: %s sets replicas too, and each apply would undo the autoscaler", at, target.Metadata.Name)
			case o.Spec.MinReplicas < 2 || o.Spec.MaxReplicas < o.Spec.MinReplicas:
				t.Errorf("%s: from %d to %d pods survive no loss of one", at, o.Spec.MinReplicas, o.Spec.MaxReplicas)
			}
		}
	}
}

// covers reports whether every label of a selector is on the pod; an empty selector is everybody.
func covers(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return len(selector) > 0
}

// selected is the Deployments that the selector finds; there must be exactly one.
func selected(t *testing.T, at string, labels map[string]string, workloads map[string]object) []object {
	t.Helper()
	var found []object
	for _, w := range workloads {
		if covers(labels, w.Spec.Template.Metadata.Labels) {
			found = append(found, w)
		}
	}
	if len(found) != 1 {
		t.Errorf("%s: the selector %v finds %d Deployments, expected one", at, labels, len(found))
	}
	return found
}

// checkPod checks what holds for every pod that runs our image.
func checkPod(t *testing.T, at string, template podTemplate, p program) {
	t.Helper()
	spec := template.Spec
	if !spec.SecurityContext.RunAsNonRoot || spec.SecurityContext.RunAsUser == 0 || spec.SecurityContext.SeccompProfile.Type != "RuntimeDefault" {
		t.Errorf("%s: may run as root, or without a seccomp profile", at)
	}
	if spec.ServiceAccountName == "" || spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		t.Errorf("%s: gets a token of the cluster that it does not need", at)
	}
	for _, s := range spec.Spread {
		if !covers(s.LabelSelector.MatchLabels, template.Metadata.Labels) {
			t.Errorf("%s: spreads pods that are not its own", at)
		}
	}
	if len(spec.Containers) != 1 {
		t.Fatalf("%s: expected one container, got %d", at, len(spec.Containers))
	}
	c := spec.Containers[0]
	if name, _, _ := strings.Cut(c.Image, ":"); name != "holdfast" {
		t.Errorf("%s: image %s; expected the one that kubernetes/release names", at, c.Image)
	}
	var variables []string
	for _, v := range c.Env {
		variables = append(variables, v.Name)
	}
	p.check(t, at, c.Args, variables)
	hasSecrets := false
	for _, from := range c.EnvFrom {
		hasSecrets = hasSecrets || from.SecretRef.Name == "holdfast-secrets"
		if name := from.ConfigMapRef.Name; name != "" && !strings.HasPrefix(name, "holdfast-config") {
			t.Errorf("%s: nobody makes the ConfigMap %s", at, name)
		}
	}
	if !hasSecrets {
		t.Errorf("%s: has no database", at)
	}
	if c.Resources.Requests["cpu"] == "" || c.Resources.Requests["memory"] == "" || c.Resources.Limits["memory"] == "" {
		t.Errorf("%s: asks for %v and is bounded by %v", at, c.Resources.Requests, c.Resources.Limits)
	}
	s := c.SecurityContext
	if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem || !slices.Contains(s.Capabilities.Drop, "ALL") {
		t.Errorf("%s: the container may do more than it needs", at)
	}
	for _, mount := range c.VolumeMounts {
		if !slices.ContainsFunc(spec.Volumes, func(v struct {
			Name string `yaml:"name"`
		},
		) bool {
			return v.Name == mount.Name
		}) {
			t.Errorf("%s: mounts %s, which is no volume", at, mount.Name)
		}
	}
}

// checkServing checks probes and the end of pods that live long.
func checkServing(t *testing.T, at string, spec pod, p program, served httpFacts) {
	t.Helper()
	c := spec.Containers[0]
	name, _ := p.command(c.Args)
	if !slices.Contains(p.commands[name].flags, "listen") {
		t.Errorf("%s: holdfast %s serves no probes and no metrics", at, name)
	}
	for kind, probe := range map[string]*probe{"/healthz": c.Liveness, "/readyz": c.Readiness} {
		if probe == nil || probe.HTTPGet.Path != kind {
			t.Errorf("%s: expected a probe of %s", at, kind)
		}
	}
	for _, probe := range []*probe{c.Liveness, c.Readiness, c.Startup} {
		if probe == nil {
			continue
		}
		if !slices.Contains(served.routes, probe.HTTPGet.Path) || !slices.Contains(portNames(c), probe.HTTPGet.Port) {
			t.Errorf("%s: nothing serves %s on port %s", at, probe.HTTPGet.Path, probe.HTTPGet.Port)
		}
		if time.Duration(probe.TimeoutSeconds)*time.Second <= served.readyTimeout {
			t.Errorf("%s: the probe of %s gives up before the server does", at, probe.HTTPGet.Path)
		}
	}
	needed := time.Duration(c.Lifecycle.PreStop.Sleep.Seconds)*time.Second + 2*served.drainTimeout
	if time.Duration(spec.TerminationGrace)*time.Second <= needed {
		t.Errorf("%s: is killed after %d seconds and needs up to %s", at, spec.TerminationGrace, needed)
	}
}

func portNames(c container) []string {
	var names []string
	for _, port := range c.Ports {
		names = append(names, port.Name)
	}
	return names
}

// TestOverlaysRender renders every overlay with the tool that applies it, where it is installed.
func TestOverlaysRender(t *testing.T) {
	t.Parallel()
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("kubectl is not installed; TestFilesFitTheProgram checks the files that it would render")
	}
	paths, err := filepath.Glob("kubernetes/regions/*/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, "kubernetes/migrate/kustomization.yaml", "kubernetes/audit/kustomization.yaml") {
		folder := filepath.Dir(path)
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			var k kustomization
			decode(t, path, &k)
			for _, o := range objectsOf(t, folder, []byte(output(t, kubectl, "kustomize", folder))) {
				if o.Kind != "Namespace" && o.Metadata.Namespace != k.Namespace {
					t.Errorf("%s %s is in the namespace %q", o.Kind, o.Metadata.Name, o.Metadata.Namespace)
				}
				if o.Kind != "Deployment" {
					continue
				}
				if o.Spec.Template.Spec.NodeSelector["topology.kubernetes.io/region"] != filepath.Base(folder) {
					t.Errorf("%s is not tied to its region", o.Metadata.Name)
				}
				for _, from := range o.Spec.Template.Spec.Containers[0].EnvFrom {
					if from.ConfigMapRef.Name == "holdfast-config" {
						t.Errorf("%s: a change of the settings would not roll the pods", o.Metadata.Name)
					}
				}
			}
		})
	}
}

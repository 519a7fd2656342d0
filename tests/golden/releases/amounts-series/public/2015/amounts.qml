<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis version="3.22" styleCategories="Symbology">
  <pipe>
    <rasterrenderer type="singlebandpseudocolor" band="5" opacity="1" alphaBand="-1">
      <rastershader>
        <colorrampshader colorRampType="DISCRETE" classificationMode="1" clip="0">
          <item value="inf" label="all" color="#f1605d" alpha="255"/>
        </colorrampshader>
      </rastershader>
    </rasterrenderer>
  </pipe>
  <renderer-v2 type="graduatedSymbol" attr='if("mean_high" - "mean_low" &gt; 400, 2.30584300921e+18, "mean")' symbollevels="0"
      graduatedMethod="GraduatedColor" enableorderby="0" forceraster="0">
    <ranges>
      <range lower="-1.15292150461e+18" upper="1.15292150461e+18" symbol="0" label="all" render="true"/>
      <range lower="1.15292150461e+18" upper="3.45876451382e+18" symbol="1" label="not known well" render="true"/>
    </ranges>
    <symbols>
      <symbol type="fill" name="0" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="241,96,93,255"/><prop k="outline_color" v="241,96,93,255"/><prop k="style" v="solid"/><prop k="outline_style" v="solid"/><prop k="outline_width" v="0.3"/><prop k="outline_width_unit" v="MM"/><prop k="joinstyle" v="miter"/></layer></symbol>
      <symbol type="fill" name="1" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="217,217,222,255"/><prop k="outline_color" v="217,217,222,255"/><prop k="style" v="solid"/><prop k="outline_style" v="solid"/><prop k="outline_width" v="0.3"/><prop k="outline_width_unit" v="MM"/><prop k="joinstyle" v="miter"/></layer></symbol>
    </symbols>
  </renderer-v2>
</qgis>
